import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An agent was to be resumed only in certain statuses, and is in another by now. Nothing has changed. */
export class StatusChangedError extends AgentPersistenceError {
  readonly code = "status_changed";
  readonly agentId: string;
  /** The status it is in; absent when nothing is stored of it. */
  readonly status?: string;
  /** The statuses that were asked for. */
  readonly expected: readonly string[];

  constructor(agentId: string, status: string | undefined, expected: readonly string[]) {
    super(
      `Agent ${JSON.stringify(agentId)} was to be resumed only if it is ${expected.join(" or ")}, and it is ` +
        `${status ?? "not there"}. Look at it again before you decide.`,
    );
    this.agentId = agentId;
    if (status !== undefined) this.status = status;
    this.expected = expected;
  }
}
