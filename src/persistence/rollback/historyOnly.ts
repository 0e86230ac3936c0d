import { runMoved } from "../../agent/context/RunMoved.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { stateAt } from "../../checkpoint/state/foldTo.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import { messagesOf } from "../../journal/messagesOf.ts";
import { revertibleCall, type RollbackReport } from "./RollbackReport.ts";

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
