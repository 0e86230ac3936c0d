import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A transaction does not match the history of a session. The session is unchanged. */
export class SessionConflictError extends AgentPersistenceError {
  override readonly code = "session_conflict";

  constructor(
    readonly sessionId: string,
    readonly operationId: string,
    /**
     * `operation_reused` if the id belongs to another applied transaction, `suffix_differs` if the session ends with
     * other items than expected.
     */
    readonly problem: "operation_reused" | "suffix_differs",
  ) {
    const found =
      problem === "operation_reused"
        ? "the operation was already applied with a different transaction. Give each transaction a unique id."
        : "the session no longer ends with the items that the transaction expects. Read the items again before you retry.";
    super(`Session ${quoted(sessionId)} rejected transaction ${quoted(operationId)}: ${found}`);
  }
}
