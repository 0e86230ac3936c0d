import { z } from "zod";
import { runMoved } from "../../agent/context/RunMoved.ts";
import { foldTo } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/LogProjection.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { RollbackOptions } from "./RollbackOptions.ts";
import { revertibleCall, type RollbackReport } from "./RollbackReport.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

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
