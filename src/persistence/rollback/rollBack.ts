import { isRepeatable } from "../../agent/tool/recordedCall.ts";
import { runMoved } from "../../agent/strategy/Strategy.ts";
import type { TypedStorage } from "../../agent/state/TypedStorage.ts";
import { storageRecords } from "../../checkpoint/format/ValueWriter.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import { linePath } from "../../checkpoint/data/linePath.ts";
import type { AgentState } from "../../checkpoint/state/AgentState.ts";
import { changedStructure } from "../saving/strategyRecord.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { RollbackRecord } from "../../checkpoint/records/rollbackRecords.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { runsLeft, runsRejoined } from "../../checkpoint/lines/afterRollback.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { withGrace } from "../../internal/abortable.ts";
import type { Journal } from "../../journal/Journal.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback, type RollbackGoal, type RollbackPlan } from "../../journal/planRollback.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { askWhatHappened, settledOutcome } from "../../doubt/askWhatHappened.ts";
import { toolCallInDoubt } from "../settle/callsInDoubt.ts";
import { restartLine, runAt, continueFromHead } from "../executionPoint/continueFromHead.ts";
import { foldLine, stateAt } from "../../checkpoint/state/foldTo.ts";
import { renamedTools } from "../../checkpoint/values/renamed.ts";
import { openLaneOf, placesLeft, placesRejoined } from "../../checkpoint/lines/lineage.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { tellRestored } from "../starting/restoredRun.ts";
import type { StoredState } from "../starting/startRecorder.ts";
import { applyParticipants, planParticipants } from "./participants.ts";
import { goalRecord, revertCalls } from "./revertCalls.ts";
import {
  finishedReport,
  type OnRevertFailure,
  reportOf,
  revertibleCall,
  type Rollback,
  type RollbackReport,
  type RollbackOptions,
  storedReport,
} from "./RollbackReport.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { findCheckpoint, findRollbackGoal, isEnoughForRollback } from "../../journal/findCheckpoint.ts";

export interface RollBackOptions extends Rollback {
  /**
   * Whether the restarted line continues with the current code because code of the user requested the rollback.
   * Otherwise the next resume checks the code.
   */
  readonly takesCode?: boolean;
  /** The status of the agent after a rollback from outside a run. If omitted, the run continues. */
  readonly leaves?: { readonly status: "paused"; readonly reason: string } | { readonly status: "queued" };
  readonly from?: Pick<RunRecorder, "setup" | "line" | "parent">;
  readonly changes?: ReturnType<TypedStorage["takeChanges"]>;
}

/** The report of a rollback, and where the run, branch or sub-agent continues. */
interface RolledBack extends StoredState, Pick<ReturnType<typeof restartLine>, "lane" | "head"> {
  readonly report: RollbackReport;
  readonly run: RunRecord;
  /** Whether migrations apply when it continues. */
  readonly migrates: boolean;
}

/** Reverts the work since a checkpoint, newest first, and starts a lane there. Durable when the promise resolves. */
export async function rollBack(options: RollBackOptions): Promise<RolledBack> {
  const { setup, journal, target, leaves, from, takesCode = from !== undefined, changes = new Map() } = options;
  const { log, plan } = await settledPlan(options);
  const rollback: Rollback = { ...options, log };
  const state = stateAt(log.index, target);
  const migrates = hasMigration(rollback, state);
  if (from && !migrates) assertNode(from.setup, target);
  const planned = await planParticipants(rollback);
  const steps = planned.map(({ record }) => record);
  if (leaves?.status === "paused") reopenEnded(journal, target);
  const { reverted, failed, skipped } = await revertCalls(rollback, plan, steps);
  const participants = await applyParticipants(planned, rollback);
  await rollBackEvents(rollback);
  const { run, reopens } = runAt(target, log.index);
  const { lane, head, records } = restartLine(journal, { index: log.index, point: target }, "rollback", (lane) => [
    ...(takesCode && !migrates ? movedCode(rollback, state, lane) : []),
    ...storageRecords(changes, lane, journal.writer),
  ]);
  changeRuns(journal, log.index, options);
  const report = reportOf(log, options, plan, { reverted, failed, skipped, participants });
  const kept = journal.writer.value(storedReport(report), "the report of a rollback");
  const goal = goalRecord(options);
  journal.append([...(reopens ? [run] : []), ...records, { kind: "rollback_end", ...goal, report: kept }]);
  // Both appends are made in the same turn of the event loop, so that the log gets them as one append.
  if (leaves) journal.append(statusRecords(journal.statusState, { ...leaves, at: journal.clock.now() }));
  await journal.durable();
  // A run in progress reports its restart when it continues.
  if (!from) tellRestored(setup, journal, { log, state }, { run, by: "rollback" });
  return { report, log, state, run, lane, head, migrates };
}

export function pausedAt({ id }: CheckpointPoint): NonNullable<RollBackOptions["leaves"]> {
  return { status: "paused", reason: `rolled back to checkpoint ${id}` };
}

const endedStatuses: ReadonlySet<string | undefined> = new Set(["completed", "cancelled", "failed"]);

/** Pauses an agent whose run has ended, so that lists show an interrupted rollback. The same append has the plan. */
function reopenEnded(journal: Journal, { id }: CheckpointPoint): void {
  const { statusState, clock } = journal;
  if (!endedStatuses.has(statusState.current?.status)) return;
  const reason = `the rollback to checkpoint ${id} is not finished`;
  journal.append(statusRecords(statusState, { status: "paused", at: clock.now(), reason }));
}

/** Returns whether migrations apply when the run, branch or sub-agent of a checkpoint continues. */
function hasMigration({ setup, log }: Rollback, { structure, lane }: AgentState): boolean {
  const { migrations } = setup.at(linePath(log.index, lane).agentPath) ?? {};
  const chain = structure && migrations?.chainFrom(structure.version ?? 0);
  return chain !== undefined && chain.length > 0;
}

/** @throws UnknownNodeError if a run in progress cannot continue at a checkpoint */
function assertNode({ graph }: PersistenceSetup, { record: { node } }: CheckpointPoint): void {
  if (node !== "start" && node !== "finish") graph.node(node);
}

/** Records the structure of the current code for a restarted run, branch or sub-agent, if its node still exists. */
function movedCode({ setup, log, journal }: Rollback, state: AgentState, lane: number): readonly AgentRecord[] {
  const own = setup.at(linePath(log.index, state.lane).agentPath);
  const { node = "" } = state.checkpoint?.record ?? {};
  return own?.graph.nodePaths.includes(node) ? changedStructure(own, state, lane, journal) : [];
}

async function settledPlan(rollback: Rollback): Promise<{ readonly log: AgentLog; readonly plan: RollbackPlan }> {
  const { journal, log } = rollback;
  const plan = planOf(rollback, log);
  const settled = await resolveDoubts(plan, rollback);
  if (settled.length === 0) return { log, plan };
  journal.append(settled);
  const settledLog = await journal.readAll();
  return { log: settledLog, plan: planOf(rollback, settledLog) };
}

function planOf({ setup, target, base, unended = [] }: Rollback, { index, blobs }: AgentLog): RollbackPlan {
  const { participantTools } = setup;
  const plan = planRollback(
    index,
    loggedCalls(index, blobs).map((call) => setup.nowNamed(call)),
    { target, base },
    ({ tool, agentPath }) => setup.at(agentPath)?.registry.has(tool) === true,
    (tool) => participantTools.has(tool),
  );
  // A running call can take effect after its inverse, so that it is not reverted.
  const runs = ({ call, outcome }: LoggedCall) => outcome === undefined && unended.includes(call);
  const revert = plan.revert.filter((call) => !runs(call));
  return { ...plan, revert, inDoubt: [...plan.inDoubt, ...plan.revert.filter(runs)] };
}

/**
 * Resolves the calls in doubt after the target before any call is reverted, as a repeated node does.
 *
 * @throws ToolCallInDoubtError if a person must decide. The agent is unchanged.
 */
async function resolveDoubts(
  { revert, inDoubt }: RollbackPlan,
  { setup, journal, signal }: Rollback,
): Promise<readonly OutcomeRecord[]> {
  const records: OutcomeRecord[] = [];
  const isAsked = (call: LoggedCall) => (!call.outcome || call.outcome.late) && !mayRepeat(call, setup);
  for (const call of [...revert, ...inDoubt].filter(isAsked)) {
    const { onToolCallInDoubt: choice } = setup.at(call.agentPath) ?? setup;
    const asked = { tool: setup.at(call.agentPath)?.toolNamed(call.tool), choice, signal };
    const { settlement, by } = await withGrace(signal, setup.abortGrace, () =>
      askWhatHappened(toolCallInDoubt(journal.agentId, call), asked),
    );
    const end =
      settlement === "not-done"
        ? ({ unstarted: true, settled: by } as const)
        : settledOutcome(settlement, by, call.tool, journal.writer);
    const { lane, visit, call: id } = call;
    records.push({ kind: "outcome", lane, visit, call: id, ...end });
  }
  return records;
}

/** Returns whether a call can be repeated, by its tool's effect, or by the recorded effect if the tool is missing. */
function mayRepeat({ tool, effect, agentPath }: LoggedCall, setup: PersistenceSetup): boolean {
  const own = setup.at(agentPath);
  const known = own?.toolNamed(tool);
  return isRepeatable(own && known ? own.effectOf(known) : effect);
}

/** Marks runs that finished after the target as unfinished. A redo marks the runs before its target as finished. */
function changeRuns(journal: Journal, index: LogProjection, goal: RollbackGoal): void {
  const { runs, cancelled } = journal;
  for (const run of [goal.target.runId, ...runsLeft(index, goalRecord(goal))]) {
    runs.delete(run);
    cancelled.delete(run);
  }
  for (const { run, place, isCancelled } of runsRejoined(index, goalRecord(goal))) {
    runs.set(run, place);
    if (isCancelled) cancelled.add(run);
  }
}

function openGoal({ checkpoints }: LogProjection, open: RollbackRecord): RollbackGoal {
  const target = checkpoints.get(open.target);
  const base = open.base === undefined ? undefined : checkpoints.get(open.base);
  if (target && (base || open.base === undefined)) return { target, base };
  throw new UnreadableValueError("the checkpoint of an unfinished rollback is not in the log");
}

/**
 * Finishes an interrupted redo to another checkpoint than `goal`. The rollback to `goal` then starts from there.
 *
 * @returns the whole log afterwards
 */
async function finishOtherRedo(
  setup: PersistenceSetup,
  journal: Journal,
  log: AgentLog,
  goal: { readonly version: number; readonly onFailure?: OnRevertFailure | undefined },
): Promise<AgentLog> {
  const open = log.index.rollback;
  if (open?.base === undefined || open.target === goal.version) return log;
  return (await finishRollback(setup, journal, goal.onFailure)).log;
}

/**
 * Finishes an interrupted rollback before the agent continues.
 *
 * @param choice Defaults to the choice of the interrupted rollback.
 * @param signal Defaults to a signal that aborts when this process loses the agent.
 * @returns the whole log afterwards, and the calls that could not be reverted.
 * @throws RollbackIncompleteError, ToolCallInDoubtError. The rollback stays open.
 */
export async function finishRollback(
  setup: PersistenceSetup,
  journal: Journal,
  choice?: OnRevertFailure,
  signal: AbortSignal = journal.lost,
): Promise<{ readonly log: AgentLog; readonly left: RollbackReport["failed"] }> {
  const log = await journal.readAll();
  const { rollback: open } = log.index;
  if (!open) return { log, left: [] };
  const { target, base } = openGoal(log.index, open);
  const onFailure = choice ?? open.onFailure;
  // A run in progress may have requested the rollback, so it continues.
  const isRunning = journal.statusState.current?.status === "in_progress";
  const leaves = isRunning ? undefined : pausedAt(target);
  const rollback = { setup, journal, log, target, base, signal, onFailure, ...(leaves && { leaves }) };
  const finish = async () => (await rollBack(rollback)).report;
  const { failed: left } = await (setup.telemetry?.rollback(journal.agentId, finish) ?? finish());
  return { log: await journal.readAll(), left };
}

/** Makes the events that were received after the target available again. A redo restores the receipts. */
async function rollBackEvents({ setup, log: { agentId, index }, target, base }: Rollback): Promise<void> {
  const receipts = [...index.requests.all()].filter(({ record }) => record.event !== undefined);
  if (receipts.length === 0) return;
  const idsOf = (isThere: (lane: number, order: number) => boolean) =>
    receipts.filter(({ lane, order }) => isThere(lane, order)).map(({ record }) => record.request);
  const restored = base ? idsOf(placesRejoined(index, target, base)) : [];
  const inbox = await setup.inbox();
  await inbox.rollBack(agentId, idsOf(placesLeft(index, target, base)), restored);
}

/**
 * Reads the newest snapshot and later records if they have all calls of the main line after a checkpoint, by default its
 * last one. Otherwise reads the whole log.
 */
export async function readForMove(
  { setup, journal, parent, head }: Pick<RunRecorder, "setup" | "journal" | "parent" | "head">,
  checkpointId = head?.id,
): Promise<AgentLog> {
  if (parent || checkpointId === undefined) return journal.readAll();
  await journal.durable();
  return AgentLog.readRecent(setup.log, journal.agentId, (recent) => isEnoughForRollback(recent, checkpointId));
}

interface OutsideRollback extends Pick<RollbackOptions, "onFailure"> {
  readonly agentId: string;
  /** Defaults to the latest checkpoint. */
  readonly checkpointId: string | undefined;
  readonly onlyHistory: boolean;
}

export function rollBackFromOutside(setup: PersistenceSetup, options: OutsideRollback): Promise<RollbackReport> {
  const action = () => ownAndRollBack(setup, options);
  return setup.telemetry?.rollback(options.agentId, action) ?? action();
}

async function ownAndRollBack(
  setup: PersistenceSetup,
  { agentId, checkpointId, onlyHistory, onFailure }: OutsideRollback,
): Promise<RollbackReport> {
  await using journal = await setup.openJournal(agentId);
  if (onlyHistory) return await restoreMessages(setup, journal, { checkpointId, onFailure });
  await journal.durable();
  const before = await AgentLog.readRecent(setup.log, agentId, (recent) => isEnoughForRollback(recent, checkpointId));
  const { version } = findRollbackGoal(before, checkpointId).target;
  const log = await finishOtherRedo(setup, journal, before, { version, onFailure });
  const goal = findRollbackGoal(log, log.index.checkpoints.get(version)?.id);
  const rollback = { setup, journal, log, ...goal, signal: journal.lost, onFailure };
  const finished = finishedReport(log, goal);
  if (!finished) return (await rollBack({ ...rollback, takesCode: true, leaves: pausedAt(goal.target) })).report;
  await takeCode(rollback);
  return finished;
}

/** Continues with the current code, if the process that finished a rollback was not the one that requested it. */
async function takeCode(rollback: Rollback): Promise<void> {
  const { journal, log, target } = rollback;
  const lane = openLaneOf(log.index, target.record.lane);
  const state = lane === undefined ? undefined : foldLine(log.index, lane);
  const records = state && !hasMigration(rollback, state) ? movedCode(rollback, state, state.lane) : [];
  if (records.length > 0) await journal.store(records);
}

async function restoreMessages(
  setup: PersistenceSetup,
  journal: Journal,
  { checkpointId, onFailure }: Pick<OutsideRollback, "checkpointId" | "onFailure">,
): Promise<RollbackReport> {
  findCheckpoint(await journal.readAll(), checkpointId);
  const { log } = await finishRollback(setup, journal, onFailure);
  const { messages: messageHistory, report } = historyOnly(setup, log, checkpointId, log.index.lines.mainLane);
  await continueFromHead(setup, journal, log, {
    messageHistory,
    move: "rollback",
    pauseReason: "messages rolled back",
  });
  return report;
}

/**
 * Returns the messages at a checkpoint, and a report without reverted calls. The messages have the tool names of the
 * migrations that the run, branch or sub-agent on `lane` has passed since the checkpoint.
 */
export function historyOnly(
  setup: PersistenceSetup,
  log: AgentLog,
  checkpointId: string | undefined,
  lane: number,
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
  const state = stateAt(log.index, target);
  const { migrations } = setup.at(linePath(log.index, state.lane).agentPath) ?? setup;
  const versionOf = (at: AgentState | undefined) => at?.structure?.version ?? 0;
  const renames = migrations.toolRenames(versionOf(state), versionOf(foldLine(log.index, lane)));
  return { messages: log.messagesOf(state).map((message) => renamedTools(message, renames)), report };
}
