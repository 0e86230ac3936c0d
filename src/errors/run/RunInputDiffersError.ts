import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A `runId` was given again with another input: the run of that id does not answer it. Nothing has changed. */
export class RunInputDiffersError extends AgentPersistenceError {
  override readonly code = "run_input_differs";

  constructor(
    readonly agentId: string,
    readonly runId: string,
  ) {
    super(
      `Run ${quoted(runId)} of agent ${quoted(agentId)} was started with another input. ` +
        `Give each request a runId of its own. To continue that run, use resume({ agentId }), or its own input.`,
    );
  }
}
