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
        `Resume that run, by resume() or by its own input with the runId ${run}; answer its requests first if it waits. ` +
        `Or choose what becomes of it: unfinished: "finish_first" | "abandon".`,
    );
  }
}
