import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** An agent was to be resumed only in certain statuses, and its status is now another. Nothing has changed. */
export class StatusChangedError extends AgentPersistenceError {
  override readonly code = "status_changed";

  constructor(
    readonly agentId: string,
    /** The current status; `undefined` when nothing is stored for the agent. */
    readonly status: string | undefined,
    /** The statuses that were asked for. */
    readonly expected: readonly string[],
  ) {
    super(
      `Agent ${quoted(agentId)} was to be resumed only if it is ${expected.join(" or ")}, but ` +
        `${status === undefined ? "nothing is stored for it" : `it is ${status}`}. Read its status again before you decide.`,
    );
  }
}
