import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** The agent should be resumed only in certain statuses, but it has another status. The stored state is unchanged. */
export class StatusChangedError extends AgentPersistenceError {
  override readonly code = "status_changed";

  constructor(
    readonly agentId: string,
    /** The current status. `undefined` if the agent is not stored. */
    readonly status: string | undefined,
    /** The accepted statuses. */
    readonly expected: readonly string[],
  ) {
    super(
      `Agent ${quoted(agentId)} was not resumed, because it is ${status ?? "not stored"} and ` +
        `the caller expected ${expected.join(" or ")}. Read the status again before you decide.`,
    );
  }
}
