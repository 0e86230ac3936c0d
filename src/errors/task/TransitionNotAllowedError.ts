import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A task cannot move from the status it is in to the one asked for. Nothing has changed. */
export class TransitionNotAllowedError extends AgentPersistenceError {
  readonly code = "transition_not_allowed";
  readonly taskId: string;
  readonly from: string;
  readonly to: string;
  /** The statuses that it may move to; empty when it has ended. */
  readonly allowed: readonly string[];

  constructor(move: {
    readonly taskId: string;
    readonly from: string;
    readonly to: string;
    readonly allowed: readonly string[];
  }) {
    const { taskId, from, to, allowed } = move;
    const next = allowed.length > 0 ? `From here it may become ${allowed.join(" or ")}.` : "It has ended for good.";
    super(`Task ${JSON.stringify(taskId)} is ${from} and cannot become ${to}. ${next}`);
    this.taskId = taskId;
    this.from = from;
    this.to = to;
    this.allowed = allowed;
  }
}
