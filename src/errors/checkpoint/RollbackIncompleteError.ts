import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

interface ListedCall {
  readonly toolCallId: string;
  readonly toolName: string;
}

interface FailedCall extends ListedCall {
  /** The id to pass to `settleToolCall` to settle the inverse. Omitted if the call has no inverse to settle. */
  readonly inverseId?: string;
  /** The thrown value. */
  readonly error: unknown;
}

/**
 * A rollback stopped at a call that could not be reverted. The rollback stays open and blocks the agent. The next
 * rollback, run or resume continues it.
 */
export class RollbackIncompleteError extends AgentPersistenceError {
  override readonly code = "rollback_incomplete";

  constructor(
    readonly agentId: string,
    /** The target of the rollback. */
    readonly checkpointId: string,
    /** The reverted calls, newest first. */
    readonly reverted: readonly ListedCall[],
    /** The calls that could not be reverted. The last one stopped the rollback. */
    readonly failed: readonly FailedCall[],
    /** The calls that the rollback did not reach. */
    readonly remaining: readonly ListedCall[],
  ) {
    const stopped = failed.at(-1);
    const agent = quoted(agentId);
    super(
      `The rollback of agent ${agent} to checkpoint ${quoted(checkpointId)} stopped at call ` +
        `${stopped?.toolCallId} of "${stopped?.toolName}": ${describe(stopped?.error)} ` +
        `Reverted before it: ${reverted.length}; remaining after it: ${remaining.length}. ` +
        `Remove the cause, then roll back, run or resume to continue the rollback. Or revert the effect by hand and record that with ` +
        `persistence(agent).agent(${agent}).settleToolCall(${stopped?.inverseId && quoted(stopped.inverseId)}, { output: undefined }). ` +
        `To keep the effect, settle with { error: "…" }, or roll back with { onFailure: "leave" }.`,
    );
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "a value that is not an Error was thrown.";
  return `${error.name}: ${error.message.replace(/\.?$/u, ".")}`;
}
