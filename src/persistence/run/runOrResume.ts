import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import type { ResumeOptions, RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import type { RunResult } from "../../agent/feature/RunResult.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { foldTo, stateAt } from "../../checkpoint/state/foldTo.ts";
import { waits } from "../../checkpoint/state/openRequests.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { StrategyChangedError } from "../../errors/strategyErrors.ts";
import { RunNotOpenError, StatusChangedError, UnfinishedRunError } from "../../errors/runErrors.ts";
import { TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { randomId } from "../../internal/randomId.ts";
import type { Journal } from "../../journal/Journal.ts";
import { endRecords, runRecord } from "../../journal/runRecords.ts";
import type { CheckpointPoint } from "../../checkpoint/state/CheckpointPoint.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import type { LinesAt } from "../../checkpoint/moment/linesAt.ts";
import { restartLines, branchRun, linesBeside, statesOf } from "../move/restartLines.ts";
import { restartLine } from "../move/continueFromHead.ts";
import { findCheckpoint } from "../../journal/findCheckpoint.ts";
import { fitLines, type Fitting, tryLines } from "../migration/fitLines.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { RunRecorders } from "../record/RunRecorders.ts";
import { newRun, restoredRun, type StoredState } from "../nestedLines/startRecorder.ts";
import { finishOpenRollback, withEffects, openForRun } from "./openForRun.ts";
import { pruneAfterRun } from "../retention/pruneStorage.ts";
import { answerRequests, expireRequests, receiveEvents } from "../waiting/answerRequests.ts";
import { LiveRequests } from "../waiting/LiveRequests.ts";
import { branchEffects } from "./branchEffects.ts";
import { comparedInput, recordedResult, waitingResult } from "./recordedResult.ts";
import { completionData, recordFailure } from "./recordFailure.ts";
import { decideResume, decideRun, type RunDecision, type RunFacts, refusedRun } from "./decideRun.ts";
import { type DurableCall, type NextRun, newSettings } from "./DurableCall.ts";
import { joinOrRun } from "./joinOrRun.ts";

/**
 * Executes a `run` or `resume` of a durable agent. It owns the agent until the run finishes. Joins a call in this
 * process with the same `runId`.
 */
export function runOrResume(
  setup: PersistenceSetup,
  recorders: RunRecorders,
  request: RunRequest,
  next: NextRun,
): Promise<RunResult<unknown>> {
  setup.takeId(request.agentId);
  const { telemetry } = setup;
  return joinOrRun(setup.storageKey, request, (turn) => {
    const call = { setup, recorders, request, next, turn };
    return telemetry ? telemetry.run(setup.pipeline, request, (span) => carryOut({ ...call, span })) : carryOut(call);
  });
}

async function carryOut(asked: Omit<DurableCall, "journal" | "replaces">): Promise<RunResult<unknown>> {
  const { setup, turn } = asked;
  const { journal, replaces, request } = await openForRun(setup, asked.request, turn);
  try {
    const call = { ...asked, request, journal, replaces };
    assertStatus(call);
    const left = await finishOpenRollback(call);
    const result = withEffects(await execute(call), left);
    if (result.status === "completed") await pruneAfterRun(setup, journal);
    return journal.tornTail ? { ...result, tornTail: journal.tornTail } : result;
  } catch (error) {
    if (await recordFailure(journal, request, error)) await pruneAfterRun(setup, journal);
    throw error;
  } finally {
    setup.telemetry?.endCalls(journal);
    await journal[Symbol.asyncDispose]();
  }
}

async function execute(call: DurableCall): Promise<RunResult<unknown>> {
  const { journal, request } = call;
  const { agentId } = request;
  await settleRequests(call);
  const stored = storedState(journal);
  const decision = decide(call, stored);
  switch (decision.kind) {
    case "recorded":
      return recordedResult(call, decision.runId, stored);
    case "resume":
      return resume(call, stored);
    case "waiting":
      return waitingResult(decision.runId, stored);
    case "branch":
      return branch(call, decision.checkpointId);
    case "new":
      return begin(call, decision.keep, stored);
    case "abandon":
      abandon(journal, stored);
      return beginAfterOther(call, decision.keep);
    case "finish_first": {
      const first = await start(call, await shownResume(call, () => resumed(call, stored)));
      if (first.status !== "completed") throw new UnfinishedRunError(agentId, first.runId, true);
      return beginAfterOther(call, decision.keep);
    }
    default:
      throw refusedRun(decision, agentId);
  }
}

/** Resumes the unfinished run. Starts a new run instead if the strategy changed and `unfinished` is `"abandon"`. */
async function resume(call: DurableCall, stored: StoredState | undefined): Promise<RunResult<unknown>> {
  const options = call.request.options as RunOptions;
  let recorder: RunRecorder;
  try {
    recorder = await shownResume(call, () => resumed(call, stored));
  } catch (error) {
    if (!(error instanceof StrategyChangedError) || options.unfinished !== "abandon") throw error;
    abandon(call.journal, stored);
    return beginAfterOther(call, options.history === "continue" ? "history" : "nothing");
  }
  return start(call, recorder);
}

function abandon(journal: Journal, stored: StoredState | undefined): void {
  if (stored) journal.append(endRecords(journal, stored, { status: "cancelled", reason: "abandoned for another run" }));
}

function assertStatus({ request: { options, agentId }, journal }: DurableCall): void {
  const ifStatus = "ifStatus" in options ? options.ifStatus : undefined;
  const status = journal.statusState.current?.status;
  if (ifStatus && !(status && ifStatus.includes(status))) throw new StatusChangedError(agentId, status, ifStatus);
}

/** Records the answers of a resume and expires requests before the run continues. */
async function settleRequests({ setup, journal, request: { options, agentId } }: DurableCall): Promise<void> {
  const answers = "answers" in options ? options.answers : undefined;
  if (answers) {
    const given = Object.entries(answers).map(([requestId, answer]) => [requestId, { answer }] as const);
    const action = () => answerRequests(setup, journal, storedState(journal), new Map(given));
    await (setup.telemetry ? setup.telemetry.answer(agentId, Object.keys(answers), action) : action());
    await journal.readHead();
  }
  for (const end of [receiveEvents, expireRequests]) {
    const stored = storedState(journal);
    if (stored && (await end(setup, journal, stored))) await journal.readHead();
  }
}

function storedState({ head }: Journal): StoredState | undefined {
  return head?.state && { log: head.log, state: head.state };
}

function decide({ request, journal, replaces }: DurableCall, stored: StoredState | undefined): RunDecision {
  const { kind, options } = request;
  const facts = { ...factsOf(request, journal.head?.log.index, stored), replaces };
  return kind === "run" ? decideRun(options as RunOptions, facts) : decideResume(options as ResumeOptions, facts);
}

function factsOf(
  { kind, options, input }: RunRequest,
  index: LogProjection | undefined,
  stored: StoredState | undefined,
): RunFacts {
  const runId = "runId" in options ? options.runId : undefined;
  if (!index) return {};
  const ended = (run: string) => (index.cancelled.has(run) ? "cancelled" : "completed");
  const last = index.run;
  return {
    ...(index.unfinished &&
      last && {
        unfinished: {
          runId: last.run,
          input: kind === "run" ? comparedInput(stored, last, input) : "unknown",
          waits: waits(index),
        },
      }),
    ...(runId !== undefined && index.runs.has(runId) && { asked: ended(runId) }),
    ...(last && index.runs.has(last.run) && { last: { runId: last.run, status: ended(last.run) } }),
  };
}

async function resumed(
  call: DurableCall,
  stored: StoredState | undefined,
  by: "resume" | "branch" = "resume",
): Promise<RunRecorder> {
  const { setup, journal } = call;
  const run = stored?.log.index.run;
  if (!stored || !run) throw new RunNotOpenError("nothing_to_resume", journal.agentId, "nothing is stored for it");
  const opening = startRecords(journal);
  const { current, task } = journal.statusState;
  // Stored immediately, because the process can die before the run makes its first record.
  if (task && current?.status === "in_progress") await journal.store(beginRecords(journal));
  const { lane } = stored.state;
  if (!stored.log.index.lanes.has(lane)) return queued(call, stored, run, opening);
  return restoredRun(setup, journal, await fitLines(fittingOf(call), stored), { lane, run, opening, by });
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

/** Counts the attempts of a task, so that a task that crashes its process does not restart forever. */
function beginRecords({ statusState, clock }: Journal): readonly AgentRecord[] {
  const { task, attempts, current } = statusState;
  const attempt = current?.status === "in_progress" ? attempts + 1 : 1;
  return statusRecords(statusState, { status: "in_progress", at: clock.now(), ...(task && { attempt }) });
}

function shownResume<Recorder extends RunRecorder | undefined>(
  call: DurableCall,
  action: () => Promise<Recorder>,
): Promise<Recorder> {
  const { telemetry } = call.setup;
  return telemetry ? telemetry.resume(call, action) : action();
}

async function branch(call: DurableCall, checkpointId: string): Promise<RunResult<unknown>> {
  const { setup, journal } = call;
  const log = await journal.readAll();
  const target = findCheckpoint(log, checkpointId);
  const moment = linesBeside(log, target);
  const recorder = await shownResume(call, () =>
    moment ? branchOfLines(call, log, target, moment) : branchOfMain(call, log, target),
  );
  if (!recorder) return resume(call, storedState(journal));
  const effects = branchEffects(log, target, (call) => setup.hasInverse(call));
  const result = await start(call, recorder);
  const differs = effects.remaining.length > 0 || effects.missing.length > 0;
  return { ...result, ...(differs && { effects }) } as RunResult<unknown>;
}

/** Restarts all lines that were open at a checkpoint. The branch is durable before any node runs. */
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
  if (state) await tryLines(fittingOf(call), { log, state, nested }, opening);
  return resumedAfter(call, opening);
}

async function resumedAfter(call: DurableCall, opening: readonly AgentRecord[]): Promise<RunRecorder> {
  await call.journal.store(opening);
  await call.journal.readHead();
  return resumed(call, storedState(call.journal), "branch");
}

/**
 * Starts a branch of the main line. Returns `undefined` if the checkpoint is the head of an unfinished run. This case
 * is a resume, which keeps the recorded work of the next node.
 */
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
  if (!(await tryLines(fittingOf(call), { log, state, nested: new Map() }, opening)))
    return resumedAfter(call, opening);
  return restoredRun(setup, journal, { log, state }, { lane, run, opening, head: begun, by: "branch" });
}

async function beginAfterOther(call: DurableCall, keep: "history" | "nothing"): Promise<RunResult<unknown>> {
  await call.journal.readHead();
  return begin(call, keep, storedState(call.journal));
}

async function begin(
  call: DurableCall,
  keep: "history" | "nothing",
  before: StoredState | undefined,
): Promise<RunResult<unknown>> {
  const { setup, journal, request, span } = call;
  const { options, input } = request;
  const { runId = randomId() } = options as RunOptions;
  const run = runRecord(journal, runId, input, span?.trace);
  // This call has just abandoned the run, so a new run can have the same id.
  journal.runs.delete(run.run);
  journal.cancelled.delete(run.run);
  return start(call, newRun(setup, journal, { run, input, keep, opening: [run] }, before));
}

async function start(call: DurableCall, recorder: RunRecorder): Promise<RunResult<unknown>> {
  const { setup, recorders, journal, request, next, turn } = call;
  const { options, kind } = request;
  const { run: runId, digest } = recorder.run;
  if (kind === "resume")
    turn.announce(runId, (input) => digest === undefined || digest === valueDigest(input, journal.sha256));
  journal.forgetHead();
  const verify = "verify" in options ? options.verify : undefined;
  journal.endFacts = completionData(setup, journal, recorder, verify);
  recorder.newSettings = newSettings(options);
  recorders.add(recorder);
  using live = LiveRequests.begin(setup.log, journal, recorders);
  const result = await next({ ...request, options: { ...options, signal: signalOf(call) }, start: recorder.start });
  return result.status === "waiting" ? { ...result, requests: live.waitedFor } : result;
}

function fittingOf(call: DurableCall): Fitting {
  return { setup: call.setup, journal: call.journal, signal: signalOf(call) };
}

function signalOf({ journal, request: { options } }: DurableCall): AbortSignal {
  return options.signal ? AbortSignal.any([options.signal, journal.lost]) : journal.lost;
}
