import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The `runId` already belongs to a run with a different input. The stored state is unchanged. */
export class RunInputDiffersError extends AgentPersistenceError {
  override readonly code = "run_input_differs";

  constructor(
    readonly agentId: string,
    readonly runId: string,
  ) {
    super(
      `Run ${quoted(runId)} of agent ${quoted(agentId)} was started with another input. ` +
        `Give each run a unique runId. To continue that run, call resume({ agentId }), or run it with the original input.`,
    );
  }
}
