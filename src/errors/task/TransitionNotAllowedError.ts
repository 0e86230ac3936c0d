import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A task cannot change from its current status to the requested status. The stored state is unchanged. */
export class TransitionNotAllowedError extends AgentPersistenceError {
  override readonly code = "transition_not_allowed";

  constructor(
    readonly taskId: string,
    readonly from: string,
    readonly to: string,
    /** The statuses that the task may change to. Empty for a finished task. */
    readonly allowed: readonly string[],
  ) {
    const next = allowed.length > 0 ? `It may become ${allowed.join(" or ")}.` : "It is finished permanently.";
    const already = from === to ? `already ${from}` : `${from} and cannot become ${to}`;
    super(`Task ${quoted(taskId)} is ${already}. ${next}`);
  }
}
