import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Another run was requested while the agent has an unfinished one. Nothing has changed. */
export class UnfinishedRunError extends AgentPersistenceError {
  override readonly code = "unfinished_run";

  constructor(
    readonly agentId: string,
    /** The unfinished run. */
    readonly runId: string,
    /** Whether that run waits for an answer. Nothing but an answer lets it continue. */
    readonly waits: boolean,
  ) {
    const run = quoted(runId);
    const way = waits
      ? `it waits for an answer. Answer or reject what getRequests() lists, then resume it. Or end it: unfinished: "abandon".`
      : `it is unfinished. Resume it, by resume() or by its own input with the runId ${run}. ` +
        `Or choose what happens to it: unfinished: "finish_first" | "abandon".`;
    super(`Agent ${quoted(agentId)} cannot start another run after run ${run}, because ${way}`);
  }
}
