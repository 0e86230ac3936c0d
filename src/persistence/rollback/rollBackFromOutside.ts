import { runMoved } from "../../agent/context/RunMoved.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { stateAt } from "../../checkpoint/state/foldTo.ts";
import { findCheckpoint, findRollbackGoal } from "../../journal/findCheckpoint.ts";
import type { Journal } from "../../journal/Journal.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { messagesOf } from "../../journal/messagesOf.ts";
import { planRollback } from "../../journal/planRollback.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { continueFromHead } from "../executionPoint/continueFromHead.ts";
import { finishedReport } from "./finishedRollback.ts";
import { finishOtherRedo, finishRollback, pausedAt, rollBack } from "./rollBack.ts";
import { type RollbackReport, type RollbackOptions, revertibleCall } from "./RollbackReport.ts";

export interface OutsideRollback extends Pick<RollbackOptions, "onFailure"> {
  readonly agentId: string;
  /** Defaults to the latest checkpoint. */
  readonly checkpointId: string | undefined;
  readonly onlyHistory: boolean;
}

export function rollBackFromOutside(setup: PersistenceSetup, options: OutsideRollback): Promise<RollbackReport> {
  const { telemetry } = setup;
  const action = () => ownAndRollBack(setup, options);
  return telemetry ? telemetry.rollback(options.agentId, action) : action();
}

async function ownAndRollBack(
  setup: PersistenceSetup,
  { agentId, checkpointId, onlyHistory, onFailure }: OutsideRollback,
): Promise<RollbackReport> {
  await using journal = await setup.openJournal(agentId);
  const before = await journal.readAll();
  if (onlyHistory) return await restoreMessages(setup, journal, before, { checkpointId, onFailure });
  const { version } = findRollbackGoal(before, checkpointId).target;
  const log = await finishOtherRedo(setup, journal, before, { version, onFailure });
  const goal = findRollbackGoal(log, log.index.checkpoints.get(version)?.id);
  const finished = finishedReport(log, goal);
  if (finished) return finished;
  const { lost: signal } = journal;
  const leaves = pausedAt(goal.target);
  const { report } = await rollBack({ setup, journal, log, ...goal, signal, leaves, onFailure });
  return report;
}

async function restoreMessages(
  setup: PersistenceSetup,
  journal: Journal,
  before: AgentLog,
  { checkpointId, onFailure }: Pick<OutsideRollback, "checkpointId" | "onFailure">,
): Promise<RollbackReport> {
  findCheckpoint(before, checkpointId);
  const { log } = await finishRollback(setup, journal, onFailure);
  const { messages: messageHistory, report } = historyOnly(log, checkpointId);
  await continueFromHead(journal, log, { messageHistory, move: "rollback", pauseReason: "messages rolled back" });
  return report;
}

/** Returns the messages at a checkpoint, and the report of a rollback that leaves every effect. */
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
