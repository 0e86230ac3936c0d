import { z } from "zod";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { runMoved } from "../../agent/context/RunMoved.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { stateAt } from "../../checkpoint/state/foldTo.ts";
import { findCheckpoint, messagesOf } from "../../journal/findCheckpoint.ts";
import { type OnRevertFailure, revertibleCall, type RollbackReport } from "./RollbackReport.ts";

/** Options of a rollback. */
export interface RollbackOptions {
  /** Defaults to the bound context. */
  readonly agentContext?: AgentContext | undefined;
  /**
   * `default` restores messages, node, input, storage and iteration count, and runs the inverses of all later calls.
   * `message_history_only` restores only the messages, and the current node runs again from its start. Effects remain.
   */
  readonly rollbackStrategy?: "default" | "message_history_only" | undefined;
  /**
   * The reaction to a call or a participant's step that cannot be reverted. `stop`: the rollback rejects with
   * RollbackIncompleteError and stays open. `leave`: the effect remains and is reported, and the rollback continues.
   * Defaults to `stop`.
   */
  readonly onFailure?: OnRevertFailure | undefined;
}

const optionsSchema = strictOptions(() => ({
  agentContext: z.unknown().optional(),
  rollbackStrategy: z.enum(["default", "message_history_only"]).optional(),
  onFailure: z.enum(["stop", "leave"]).optional(),
}));

/**
 * Returns whether only the messages are rolled back.
 *
 * @throws InvalidInputError for an unknown strategy, which would otherwise run inverses.
 */
export function isHistoryOnly(options: RollbackOptions): boolean {
  checkSchema(optionsSchema, options, "options of a rollback");
  return options.rollbackStrategy === "message_history_only";
}

/**
 * Returns the messages at a checkpoint, and the report of a rollback of messages only. Every effect since the
 * checkpoint remains.
 */
export function historyOnly(
  log: AgentLog,
  checkpointId: string | undefined,
): { readonly messages: readonly Message[]; readonly report: RollbackReport } {
  const target = findCheckpoint(log, checkpointId);
  const plan = planRollback(log.index, loggedCalls(log.index, log.blobs), { target }, () => false);
  const remaining = [...plan.revert, ...plan.irreversible, ...plan.inDoubt, ...plan.skipped];
  const report = runMoved({
    checkpointId: target.id,
    reverted: [],
    failed: [],
    irreversible: [],
    skipped: remaining.map(revertibleCall),
    stayedReverted: [],
    participants: [],
  });
  return { messages: messagesOf(log, stateAt(log.index, target)), report };
}
