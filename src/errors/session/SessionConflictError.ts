import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A transaction does not fit the history of a session. Nothing was changed. */
export class SessionConflictError extends AgentPersistenceError {
  override readonly code = "session_conflict";

  constructor(
    readonly sessionId: string,
    /** The id of the transaction. */
    readonly operationId: string,
    /** Whether the id stands for another transaction that was applied, or the session ends with other items than expected. */
    readonly problem: "operation_reused" | "suffix_differs",
  ) {
    const found =
      problem === "operation_reused"
        ? "this id was used for another transaction. Give each transaction an id of its own."
        : "the session does not end with the items that it expects. Read the items again, and decide anew.";
    super(`Session ${quoted(sessionId)} refuses the transaction ${quoted(operationId)}: ${found}`);
  }
}
