import { AgentPersistenceError } from "../AgentPersistenceError.ts";

interface ListedCall {
  readonly toolCallId: string;
  readonly toolName: string;
}

/**
 * A rollback stopped at a call that could not be taken back. It is still open: the agent runs nothing before it is at its
 * end, and the next rollback, run or resume goes on with it.
 */
export class RollbackIncompleteError extends AgentPersistenceError {
  readonly code = "rollback_incomplete";
  readonly agentId: string;
  readonly checkpointId: string;
  /** Calls that are taken back, newest first. */
  readonly reverted: readonly ListedCall[];
  /** Calls that are not, with why; the last one stopped the rollback. `inverseId` is what to settle it by. */
  readonly failed: readonly (ListedCall & { readonly inverseId?: string; readonly error: unknown })[];
  /** Calls whose turn has not come. */
  readonly remaining: readonly ListedCall[];

  constructor(facts: Pick<RollbackIncompleteError, "agentId" | "checkpointId" | "reverted" | "failed" | "remaining">) {
    const { agentId, checkpointId, reverted, failed, remaining } = facts;
    const stopped = failed.at(-1);
    const agent = JSON.stringify(agentId);
    super(
      `The rollback of agent ${agent} to checkpoint ${JSON.stringify(checkpointId)} stopped at call ` +
        `${stopped?.toolCallId} of "${stopped?.toolName}": ${describe(stopped?.error)} ` +
        `Taken back before: ${reverted.length}; left after it: ${remaining.length}. ` +
        `Remove the cause, then roll back, run or resume: it goes on. Or take the effect back by hand and say so: ` +
        `persistence(agent).agent(${agent}).settleToolCall(${JSON.stringify(stopped?.inverseId)}, { output: undefined }), ` +
        `or that it stands: { error: "…" }.`,
    );
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.reverted = reverted;
    this.failed = failed;
    this.remaining = remaining;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "something was thrown that is no error.";
  return `${error.name}: ${error.message.replace(/\.?$/u, ".")}`;
}
