import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { runMoved } from "../../agent/context/RunMoved.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { foldTo } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/LogProjection.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { revertibleCall, type RollbackReport } from "./RollbackReport.ts";
import { z } from "zod";

const optionsSchema = strictOptions({
  agentContext: z.unknown().optional(),
  rollbackStrategy: z.enum(["default", "message_history_only"]).optional(),
});

/** Whether only the messages go back. @throws InvalidInputError for a strategy that is none: it would run inverses. */
export function isHistoryOnly(options: RollbackOptions): boolean {
  checkSchema(optionsSchema, options, "options of a rollback");
  return options.rollbackStrategy === "message_history_only";
}

/** The messages at a checkpoint. */
export function messagesAt(log: AgentLog, target: CheckpointPoint): readonly Message[] {
  const state = foldTo(log.index, target);
  if (!state) throw new UnreadableValueError(`the line to checkpoint ${target.id} is not in the log`);
  const reader = log.reader(state);
  return state.history.map(({ message }) => reader.message(message));
}

/** The report of a rollback of messages alone: every effect since the checkpoint stands. */
export function historyOnlyReport(log: AgentLog, target: CheckpointPoint): RollbackReport {
  const plan = planRollback(log.index, loggedCalls(log.index, log.blobs), target, () => false);
  const standing = [...plan.revert, ...plan.irreversible, ...plan.inDoubt, ...plan.skipped];
  return runMoved({
    checkpointId: target.id,
    reverted: [],
    failed: [],
    irreversible: [],
    skipped: standing.map(revertibleCall),
    participants: [],
  });
}

/** How to roll back. */
export interface RollbackOptions {
  /** Default: the context that this object is bound to. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * `default`: messages, node, input, storage and iteration go back, and the inverses of what was done since are run.
   * `message_history_only`: only the messages go back; the current node runs again from its start, and effects stand.
   */
  readonly rollbackStrategy?: "default" | "message_history_only" | undefined;
}
