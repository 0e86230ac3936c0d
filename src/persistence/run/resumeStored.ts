import type { BranchEffects } from "../../agent/feature/RunResult.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import type { CheckpointPoint } from "../../checkpoint/records/lineRecords.ts";
import { placesUpTo } from "../../checkpoint/lines/lineage.ts";
import { foldTo, stateAt } from "../../checkpoint/state/foldTo.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { endOfMove, type LinesAt } from "../../checkpoint/moment/linesAt.ts";
import { RunNotOpenError } from "../../errors/runErrors.ts";
import { TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import { fitLines, tryLines } from "../migration/fitLines.ts";
import { restartLine, branchRun, linesBeside, restartLines, statesOf } from "../executionPoint/continueFromHead.ts";
import { restoredRun } from "../starting/restoredRun.ts";
import { newRun, storedState, type StoredState } from "../starting/startRecorder.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { giveBackEvents } from "../waiting/journalReceipt.ts";
import type { DurableCall } from "./DurableCall.ts";
import { type LoggedCall, loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import { revertibleCall } from "../rollback/RollbackReport.ts";

/** Continues the unfinished run of an agent. @throws RunNotOpenError, and the errors of `fitLines`. */
export function resumed(call: DurableCall, stored: StoredState | undefined): Promise<RunRecorder> {
  return shownResume(call, () => resumedBy("resume", call, stored));
}

/** A run that continues from an earlier checkpoint, and the effects that do not match the checkpoint. */
interface Branched {
  readonly recorder: RunRecorder;
  readonly effects: BranchEffects;
}

/** Starts a branch at a checkpoint. `undefined` at the head of an unfinished run, which a resume continues. */
export async function branched(call: DurableCall, checkpointId: string): Promise<Branched | undefined> {
  const { setup, journal } = call;
  const log = await journal.readAll();
  const target = findCheckpoint(log, checkpointId);
  const moment = linesBeside(log, target);
  const left = storedState(journal);
  if (left) await giveBackEvents(setup, left);
  const recorder = await shownResume(call, () =>
    moment ? branchOfLines(call, log, target, moment) : branchOfMain(call, log, target),
  );
  return recorder && { recorder, effects: branchEffects(log, target, (made) => setup.hasInverse(made)) };
}

async function resumedBy(
  by: "resume" | "branch",
  call: DurableCall,
  stored: StoredState | undefined,
): Promise<RunRecorder> {
  const { setup, journal } = call;
  const run = stored?.log.index.run;
  if (!stored || !run) throw new RunNotOpenError("nothing_to_resume", journal.agentId, "nothing is stored for it");
  const opening = startRecords(journal);
  const { current, task } = journal.statusState;
  // Stored before the run starts, because the process can crash before the first record of the run.
  if (task && current?.status === "in_progress") await journal.store(beginRecords(journal));
  const { lane } = stored.state;
  if (!stored.log.index.lanes.has(lane)) return queued(call, stored, run, opening);
  return restoredRun(setup, journal, await fitLines(call, stored), { lane, run, opening, by });
}

function queued(
  { setup, journal }: DurableCall,
  stored: StoredState,
  run: RunRecord,
  opening: readonly AgentRecord[],
): RunRecorder {
  const { graph } = setup;
  const given = stored.log.readValue(run.input);
  const input = frozenCopy(checkSchema(graph.root.input, given, `input of strategy "${graph.name}"`));
  return newRun(setup, journal, { run, input, keep: "nothing", opening }, undefined);
}

function startRecords(journal: Journal): readonly AgentRecord[] {
  const { statusState, agentId } = journal;
  const { current } = statusState;
  if (!current || current.status === "in_progress") return [];
  if (current.record?.recoverable === false) throw new TransitionNotAllowedError(agentId, "failed", "in_progress", []);
  return beginRecords(journal);
}

/** Counts the attempts of a task, so that a task that crashes its process is not restarted forever. */
function beginRecords({ statusState, clock }: Journal): readonly AgentRecord[] {
  const { task, attempts, current } = statusState;
  const attempt = current?.status === "in_progress" ? attempts + 1 : 1;
  return statusRecords(statusState, { status: "in_progress", at: clock.now(), ...(task && { attempt }) });
}

function shownResume<Recorder extends RunRecorder | undefined>(
  call: DurableCall,
  action: () => Promise<Recorder>,
): Promise<Recorder> {
  return call.setup.telemetry?.resume(call, action) ?? action();
}

/** Restarts the run and all branches and sub-agents that were open at a checkpoint. Durable before any node runs. */
async function branchOfLines(
  call: DurableCall,
  log: AgentLog,
  target: CheckpointPoint,
  moment: LinesAt,
): Promise<RunRecorder> {
  const { journal } = call;
  const { run, reopens } = branchRun(journal, log, target);
  const begun = restartLines(journal, log, moment, { move: "branch", runId: run.run });
  const opening = [...(reopens ? [run] : startRecords(journal)), ...begun.records];
  const [state, nested] = statesOf(begun);
  if (state) await tryLines(call, { log, state, nested }, opening);
  return resumedAfter(call, opening);
}

async function resumedAfter(call: DurableCall, opening: readonly AgentRecord[]): Promise<RunRecorder> {
  await call.journal.store(opening);
  await call.journal.readHead();
  return resumedBy("branch", call, storedState(call.journal));
}

/** Restarts only the run. Returns `undefined` if the checkpoint is the head of an unfinished run. */
async function branchOfMain(
  call: DurableCall,
  log: AgentLog,
  target: CheckpointPoint,
): Promise<RunRecorder | undefined> {
  const { setup, journal } = call;
  const head = foldTo(log.index);
  if (head?.checkpoint === target && log.index.unfinished && !log.index.lines.hasNested) return undefined;
  const { run, reopens } = branchRun(journal, log, target);
  const { lane, head: begun, records } = restartLine(journal, { index: log.index, point: target }, "branch");
  const opening = [...(reopens ? [run] : startRecords(journal)), ...records];
  const state = stateAt(log.index, target);
  if (!(await tryLines(call, { log, state, nested: new Map() }, opening))) return resumedAfter(call, opening);
  return restoredRun(setup, journal, { log, state }, { lane, run, opening, head: begun, by: "branch" });
}

function branchEffects(
  log: AgentLog,
  target: CheckpointPoint,
  hasInverse: (call: LoggedCall) => boolean,
): BranchEffects {
  const calls = loggedCalls(log.index, log.blobs);
  const { revert, irreversible, inDoubt } = planRollback(log.index, calls, { target }, hasInverse);
  const line = foldTo(log.index, target)?.calls;
  // The branches and sub-agents that ran at the checkpoint continue with their earlier calls.
  const isOnWay = placesUpTo(log.index, { ...target, order: endOfMove(log.index, target) });
  const isAbandoned = ({ lane, order }: LoggedCall) => !isOnWay(lane, order);
  const missing = calls.filter(
    ({ call, owner }) => owner === undefined && line?.has(call) && log.index.reverted.has(call),
  );
  return {
    remaining: [...revert, ...irreversible, ...inDoubt].filter(isAbandoned).map(revertibleCall),
    missing: missing.map(revertibleCall),
  };
}
