import type { ResumeOptions, RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import type { RunResult, RevertibleCall } from "../../agent/feature/RunResult.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { openRequests, waits } from "../../checkpoint/state/openRequests.ts";
import { statusRecords } from "../../checkpoint/state/StatusState.ts";
import { valueDigest } from "../../checkpoint/values/isSameValue.ts";
import { StatusChangedError, UnfinishedRunError } from "../../errors/runErrors.ts";
import { StrategyChangedError } from "../../errors/strategyErrors.ts";
import { describeError } from "../../checkpoint/records/runRecords.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Journal } from "../../journal/Journal.ts";
import { runRecord } from "../../journal/runRecords.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { newRun, storedState, type StoredState } from "../starting/startRecorder.ts";
import type { RunRecorder } from "../saving/RunRecorder.ts";
import { recorders } from "../saving/recorders.ts";
import { isPruningNext, pruneAfterRun } from "../retention/pruneAfterRun.ts";
import { LiveRequests } from "../waiting/LiveRequests.ts";
import {
  comparedInput,
  decideResume,
  decideRun,
  type RunDecision,
  type RunFacts,
  refusedRun,
  waitingResult,
} from "./decideRun.ts";
import type { DurableCall, NextRun } from "./DurableCall.ts";
import { joinOrRun, type OwnTurn } from "./joinOrRun.ts";
import type { OpenedForRun } from "./openWhenBusy.ts";

/** The hooks that can run after the last append, with the number of handlers that Persistence registers. */
const hooksAfterRun = [
  "run",
  "strategyStarting",
  "runMoved",
  "subgraphStarting",
  "nodeCompleted",
  "subgraphCompleted",
  "strategyCompleted",
  "agentCompleted",
] as const;
const ownHooksAfterRun = 4;

const loadResumes = () => import("./resumeStored.ts");
let resumes: Awaited<ReturnType<typeof loadResumes>> | undefined;

/** Loads the code for resumes only once, because some module loaders need a millisecond for each import. */
async function resuming() {
  return (resumes ??= await loadResumes());
}

/** Executes a `run` or `resume`, and owns the agent during this time. Calls with the same `runId` are joined. */
export function runOrResume(setup: PersistenceSetup, request: RunRequest, next: NextRun): Promise<RunResult<unknown>> {
  setup.takeId(request.agentId);
  return joinOrRun(setup.storageKey, request, (turn) => {
    const call = { setup, request, next, turn };
    return setup.telemetry?.run(setup.pipeline, request, (span) => carryOut({ ...call, span })) ?? carryOut(call);
  });
}

async function carryOut(asked: Omit<DurableCall, "journal" | "replaces" | "signal">): Promise<RunResult<unknown>> {
  const { setup, turn } = asked;
  const { journal, replaces, request } = await openForRun(setup, asked.request, turn);
  try {
    const { lost } = journal;
    const signal = request.options.signal ? AbortSignal.any([request.options.signal, lost]) : lost;
    const call = { ...asked, request, journal, replaces, signal };
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
  const { agentId } = call.request;
  const { decision, received } = await settledDecision(call);
  const stored = storedState(call.journal);
  switch (decision.kind) {
    case "recorded":
      return (await import("./recordedResult.ts")).recordedResult(call, decision.runId, stored);
    case "resume":
      return resume(call, stored, received);
    case "waiting":
      return waitingResult(decision.runId, stored);
    case "branch":
      return branch(call, decision.checkpointId);
    case "new":
      return begin(call, decision.keep, stored);
    case "abandon":
      return abandonFirst(call, decision.keep);
    case "finish_first": {
      const { resumed } = await resuming();
      const first = await start(call, await resumed(call, stored), false);
      if (first.status !== "completed") throw new UnfinishedRunError(agentId, first.runId, true);
      return beginAfterOther(call, decision.keep);
    }
    default:
      throw refusedRun(decision, agentId);
  }
}

interface SettledDecision {
  readonly decision: RunDecision;
  /** The requests that received an event in this call. */
  readonly received?: readonly string[];
}

/** Records the answers of a resume. Ends open requests only if this call can continue the unfinished run. */
async function settledDecision(call: DurableCall): Promise<SettledDecision> {
  const { options } = call.request;
  const settling = () => import("./cancelRun.ts");
  if ("answers" in options && options.answers) await (await settling()).recordAnswers(call, options.answers);
  const stored = storedState(call.journal);
  const decision = decide(call, stored);
  const asks = stored !== undefined && openRequests(stored.log.index, stored.state).length > 0;
  if (!asks || !continuesRun(decision, options)) return { decision };
  const received = await (await settling()).endRequests(call);
  return { decision: decide(call, storedState(call.journal)), received };
}

function continuesRun({ kind }: RunDecision, options: RunOptions | ResumeOptions): boolean {
  if (kind === "refuse_unfinished") return "unfinished" in options && options.unfinished === "finish_first";
  return kind === "resume" || kind === "waiting" || kind === "finish_first";
}

/** Resumes the unfinished run. If the strategy changed and `unfinished` is `"abandon"`, starts a new run. */
async function resume(
  call: DurableCall,
  stored: StoredState | undefined,
  received?: readonly string[],
): Promise<RunResult<unknown>> {
  const options = call.request.options as RunOptions;
  const { resumed } = await resuming();
  let recorder: RunRecorder;
  try {
    recorder = await resumed(call, stored);
  } catch (error) {
    if (!(error instanceof StrategyChangedError) || options.unfinished !== "abandon") throw error;
    return abandonFirst(call, options.history === "continue" ? "history" : "nothing", received);
  }
  return start(call, recorder);
}

function assertStatus({ request: { options, agentId }, journal }: DurableCall): void {
  const ifStatus = "ifStatus" in options ? options.ifStatus : undefined;
  const status = journal.statusState.current?.status;
  if (ifStatus && !(status && ifStatus.includes(status))) throw new StatusChangedError(agentId, status, ifStatus);
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

async function branch(call: DurableCall, checkpointId: string): Promise<RunResult<unknown>> {
  const { branched } = await resuming();
  const begun = await branched(call, checkpointId);
  if (!begun) return resume(call, storedState(call.journal));
  const { recorder, effects } = begun;
  const result = await start(call, recorder);
  const differs = effects.remaining.length > 0 || effects.missing.length > 0;
  return { ...result, ...(differs && { effects }) } as RunResult<unknown>;
}

async function abandonFirst(
  call: DurableCall,
  keep: "history" | "nothing",
  received?: readonly string[],
): Promise<RunResult<unknown>> {
  const { setup, journal } = call;
  const stored = storedState(journal);
  const { endUnfinished } = await import("./cancelRun.ts");
  if (stored) await endUnfinished(setup, journal, stored, "abandoned for another run", received);
  return beginAfterOther(call, keep);
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
  const { runId = crypto.randomUUID() } = options as RunOptions;
  const run = runRecord(journal, runId, input, span?.trace);
  // The run was abandoned in this call, so that a new run can have its id.
  journal.runs.delete(run.run);
  journal.cancelled.delete(run.run);
  return start(call, newRun(setup, journal, { run, input, keep, opening: [run] }, before));
}

/** @param isLast Whether the call ends with this run. */
async function start(call: DurableCall, recorder: RunRecorder, isLast = true): Promise<RunResult<unknown>> {
  const { setup, journal, request, next, turn, signal } = call;
  const { options, kind } = request;
  const { run: runId, digest } = recorder.run;
  if (kind === "resume")
    turn.announce(runId, (input) => digest === undefined || digest === valueDigest(input, journal.sha256));
  turn.own.executes = true;
  journal.forgetHead();
  // If other features have hooks after the last append, the agent is released after the hooks.
  const isReleased = isLast && setup.pipeline.countHooks(...hooksAfterRun) === ownHooksAfterRun;
  journal.endsWithRun = () => isReleased && !isPruningNext(setup, journal);
  // `undefined` for a resumed run, because earlier owners may have noted file changes.
  const after = recorder.recording ? undefined : journal.position;
  if (("verify" in options && options.verify) || setup.participants.some(({ key }) => key === fileNoteKey))
    journal.endFacts = async (output) =>
      (await import("./completionData.ts")).completionData(call, recorder, output, after);
  const { llmModel: model, modelParameters: parameters } = options as ResumeOptions;
  if (model !== undefined || parameters !== undefined) recorder.newSettings = withoutUndefined({ model, parameters });
  recorders.add(recorder);
  using live = LiveRequests.begin(setup.log, journal);
  const result = await next({ ...request, options: { ...options, signal }, start: recorder.start });
  return result.status === "waiting" ? { ...result, requests: live.waitedFor } : result;
}

/**
 * Records a rejected run as failed, but not as finished.
 *
 * @returns false before the start of the run, after an abort by the caller (the run counts as interrupted), or if the
 *   storage failed.
 */
async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<boolean> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return false;
  try {
    const { usage, statusState, failedCalls: failedNow } = journal;
    // Calls that failed in an earlier attempt and were not retried must still be retried.
    const failedCalls = [...new Set([...(statusState.failedCalls ?? []), ...failedNow])];
    const failed = { status: "failed", at: journal.clock.now(), error: describeError(error) } as const;
    const facts = { ...(usage && { usage }), ...(failedCalls.length > 0 && { failedCalls }) };
    await journal.store(statusRecords(statusState, { ...failed, ...facts }));
    return true;
  } catch {
    // The run rejects with its own error. Without this record, the run counts as interrupted.
    return false;
  }
}

/**
 * Opens an agent for a call of `run` or `resume`. If it is busy, `whenBusy` decides.
 *
 * @throws AgentBusyError, RunStoppedError if the joined run stops without a result
 */
async function openForRun(setup: PersistenceSetup, request: RunRequest, turn: OwnTurn): Promise<OpenedForRun> {
  const { agentId, options, kind } = request;
  const { whenBusy = "reject" } = options as RunOptions;
  const open = () => setup.openJournal(agentId, options.takeOver ? "take_over" : undefined, kind === "resume");
  if (whenBusy === "reject") return { journal: await open(), request, replaces: false };
  const { openWhenBusy } = await import("./openWhenBusy.ts");
  return openWhenBusy(setup, { request, whenBusy, turn, open });
}

/** Finishes an interrupted rollback. @returns the calls that it could not revert, if the caller abandons runs. */
async function finishOpenRollback(call: DurableCall): Promise<readonly RevertibleCall[]> {
  const { setup, journal, signal } = call;
  const { options } = call.request;
  if (!journal.head?.log.index.rollback) return [];
  const { finishRollback } = await import("../rollback/rollBack.ts");
  const abandons = "unfinished" in options && options.unfinished === "abandon";
  const { left } = await finishRollback(setup, journal, abandons ? "leave" : undefined, signal);
  await journal.readHead();
  return (abandons ? left : []).map(({ error: _error, ...reverting }) => reverting);
}

function withEffects(result: RunResult<unknown>, remaining: readonly RevertibleCall[]): RunResult<unknown> {
  if (result.status !== "completed" || remaining.length === 0) return result;
  return { ...result, effects: { missing: [], remaining } };
}
