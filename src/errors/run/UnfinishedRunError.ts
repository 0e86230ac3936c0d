import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** Another run was requested while the agent has an unfinished run. The stored state is unchanged. */
export class UnfinishedRunError extends AgentPersistenceError {
  override readonly code = "unfinished_run";

  constructor(
    readonly agentId: string,
    /** The unfinished run. */
    readonly runId: string,
    /** Whether that run waits for a response to a request. It can only continue after a response. */
    readonly waits: boolean,
  ) {
    const run = quoted(runId);
    const way = waits
      ? `it waits for an answer. Answer or reject the requests that getRequests() lists, then resume the run. Or abandon it with unfinished: "abandon".`
      : `it is unfinished. Resume it with resume(), or with the original input and the runId ${run}. ` +
        `Or set unfinished: "finish_first" | "abandon".`;
    super(`Agent ${quoted(agentId)} cannot start another run after run ${run}, because ${way}`);
  }
}
