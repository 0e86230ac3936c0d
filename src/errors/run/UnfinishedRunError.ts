import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Another run was requested while the agent has an unfinished one. Nothing has changed. */
export class UnfinishedRunError extends AgentPersistenceError {
  override readonly code = "unfinished_run";

  constructor(
    readonly agentId: string,
    readonly runId: string,
  ) {
    const run = quoted(runId);
    super(
      `Agent ${quoted(agentId)} cannot start another run while run ${run} is unfinished. ` +
        `Resume that run with resume({ agentId }) or run(input, { runId: ${run} }), ` +
        `or choose what becomes of it: unfinished: "finish_first" | "abandon".`,
    );
  }
}
