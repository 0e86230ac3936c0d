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
        ? "the operation was already applied with a different transaction. Give each transaction its own id."
        : "the session history suffix no longer matches the transaction. Read the items again before you retry.";
    super(`Session ${quoted(sessionId)} refuses the transaction ${quoted(operationId)}: ${found}`);
  }
}
