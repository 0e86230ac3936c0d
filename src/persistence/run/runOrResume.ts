import type { ResumeOptions, RunOptions, RunRequest } from "../../agent/feature/RunRequest.ts";
import type { BranchEffects, RunResult } from "../../agent/feature/RunResult.ts";
import { toolsByNames } from "../../agent/tool/Tool.ts";
import { fileNoteKey } from "../../checkpoint/data/FileChange.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { RunRecord } from "../../checkpoint/records/runRecords.ts";
import { foldTo } from "../../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../../checkpoint/state/LogProjection.ts";
import { waits } from "../../checkpoint/state/openRequests.ts";
import { statusRecords } from "../../checkpoint/state/statusRecords.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { RunNotOpenError } from "../../errors/run/RunNotOpenError.ts";
import { StatusChangedError } from "../../errors/run/StatusChangedError.ts";
import { UnfinishedRunError } from "../../errors/run/UnfinishedRunError.ts";
import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import { TransitionNotAllowedError } from "../../errors/task/TransitionNotAllowedError.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { randomId } from "../../internal/randomId.ts";
import type { Journal } from "../../journal/Journal.ts";
import { changedFiles } from "../../journal/changedFiles.ts";
import { describeError } from "../../journal/describeError.ts";
import { endRecords } from "../../journal/endRecords.ts";
import { loggedCalls } from "../../journal/loggedCalls.ts";
import { planRollback } from "../../journal/planRollback.ts";
import { runRecord } from "../../journal/runRecord.ts";
import type { AgentLog } from "../../storage/AgentLog.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { branchFrom, runAt } from "../move/continueFromHead.ts";
import { findCheckpoint } from "../move/findCheckpoint.ts";
import type { RunRecorder } from "../record/RunRecorder.ts";
import type { RunRecorders } from "../record/RunRecorders.ts";
import type { CompletionData } from "../record/checkpointRecord.ts";
import { newRun, restoredRun, type StoredState } from "../record/startRecorder.ts";
import { assertStrategyFits } from "../record/strategyRecord.ts";
import { revertibleCall } from "../rollback/RollbackReport.ts";
import { finishRollback } from "../rollback/rollBack.ts";
import { answerRequests, expireRequests } from "../waiting/answerRequests.ts";
import { pendingInputs } from "../waiting/pendingInputs.ts";
import { decideResume, decideRun, type RunDecision, type RunFacts } from "./decideRun.ts";
import { recordedOutput } from "./recordedOutput.ts";
import { z } from "zod";

type Next = (request: RunRequest) => Promise<RunResult<unknown>>;

/** One call of `run` or `resume` on a durable agent: it owns the agent while it lasts. */
export class DurableRun {
  readonly #setup: PersistenceSetup;
  readonly #recorders: RunRecorders;
  readonly #journal: Journal;
  readonly #request: RunRequest;
  readonly #next: Next;

  constructor(options: {
    readonly setup: PersistenceSetup;
    readonly recorders: RunRecorders;
    readonly journal: Journal;
    readonly request: RunRequest;
    readonly next: Next;
  }) {
    this.#setup = options.setup;
    this.#recorders = options.recorders;
    this.#journal = options.journal;
    this.#request = options.request;
    this.#next = options.next;
  }

  async execute(): Promise<RunResult<unknown>> {
    this.#assertStatus();
    const begun = this.#journal.head?.log.index.rollback ? await this.#finishRollback() : this.#stored();
    const stored = await this.#settleRequests(begun);
    const decision = this.#decide(stored);
    const { agentId } = this.#request;
    switch (decision.kind) {
      case "recorded":
        return {
          status: "completed",
          runId: decision.runId,
          output: await recordedOutput(this.#setup.log, this.#journal, decision.runId),
        };
      case "resume":
        return this.#run(await this.#resumed(stored));
      case "waiting":
        return { status: "waiting", runId: decision.runId, requests: stored ? pendingInputs(stored) : [] };
      case "branch":
        return this.#branch(decision.checkpointId);
      case "new":
        return this.#begin(decision.keep, stored);
      case "abandon":
        if (stored) {
          const end = { status: "cancelled", reason: "abandoned for another run" } as const;
          this.#journal.append(endRecords(this.#journal, stored, end));
        }
        return this.#afterOther(decision.keep);
      case "finish_first":
        return this.#finishFirst(stored, decision.keep);
      case "refuse_unfinished":
        throw new UnfinishedRunError(agentId, decision.runId);
      case "refuse_cancelled":
        throw new RunNotOpenError("nothing_to_resume", agentId, `run ${JSON.stringify(decision.runId)} was canceled`);
      case "refuse_nothing":
        throw new RunNotOpenError("nothing_to_resume", agentId, "nothing is stored for it");
    }
  }

  /** @throws RollbackIncompleteError */
  async #finishRollback(): Promise<StoredState | undefined> {
    await finishRollback(this.#setup, this.#journal);
    await this.#journal.readHead();
    return this.#stored();
  }

  /** Answers given with the resume come first, and so does what has expired. */
  async #settleRequests(stored: StoredState | undefined): Promise<StoredState | undefined> {
    const journal = this.#journal;
    const { options } = this.#request;
    const answers = "answers" in options ? options.answers : undefined;
    let current = stored;
    if (answers) {
      await answerRequests(this.#setup, journal, current, answers);
      await journal.readHead();
      current = this.#stored();
    }
    if (!current || !(await expireRequests(journal, current))) return current;
    await journal.readHead();
    return this.#stored();
  }

  /** @throws StatusChangedError */
  #assertStatus(): void {
    const { options, agentId } = this.#request;
    const ifStatus = "ifStatus" in options ? options.ifStatus : undefined;
    const status = this.#journal.statusState.current?.status;
    if (ifStatus && !(status && ifStatus.includes(status))) throw new StatusChangedError(agentId, status, ifStatus);
  }

  #stored(): StoredState | undefined {
    const { head } = this.#journal;
    return head?.state && { log: head.log, state: head.state };
  }

  #decide(stored: StoredState | undefined): RunDecision {
    const { kind, options } = this.#request;
    const facts = this.#facts(stored);
    // A request of kind `run` carries the options of `run`, one of kind `resume` those of `resume`.
    return kind === "run" ? decideRun(options as RunOptions, facts) : decideResume(options as ResumeOptions, facts);
  }

  #facts(stored: StoredState | undefined): RunFacts {
    const { index } = this.#journal.head?.log ?? {};
    const { options } = this.#request;
    const runId = "runId" in options ? options.runId : undefined;
    const ended = (run: string) => (index?.cancelled.has(run) ? "cancelled" : "completed");
    const last = index?.run?.run;
    return {
      ...(index?.unfinished &&
        index.run && {
          unfinished: {
            runId: index.run.run,
            sameInput: this.#sameInput(index.run, stored),
            waits: stored !== undefined && waits(index, stored.state),
          },
        }),
      ...(runId !== undefined && index?.runs.has(runId) && { asked: ended(runId) }),
      ...(last !== undefined && index?.runs.has(last) && { last: { runId: last, status: ended(last) } }),
    };
  }

  #sameInput(run: RunRecord, stored: StoredState | undefined): boolean {
    if (this.#request.kind === "resume" || !stored) return false;
    const before = stored.log.readValue(run.input);
    return isSameValue(before, this.#request.input);
  }

  async #resumed(stored: StoredState | undefined): Promise<RunRecorder> {
    const { agentId } = this.#request;
    const run = stored?.log.index.run;
    if (!stored || !run) throw new RunNotOpenError("nothing_to_resume", agentId, "nothing is stored for it");
    const opening = this.#startRecords();
    if (!stored.log.index.lanes.has(stored.state.lane)) return this.#queued(stored, run, opening);
    await this.#assertFits(stored);
    return restoredRun(this.#setup, this.#journal, stored, { lane: stored.state.lane, run, opening, by: "resume" });
  }

  /** A task that has waited for its first start. */
  #queued(stored: StoredState, run: RunRecord, opening: readonly AgentRecord[]): RunRecorder {
    const { graph } = this.#setup;
    const given = stored.log.readValue(run.input);
    const input = frozenCopy(checkSchema(graph.root.input, given, `input of strategy "${graph.name}"`));
    return newRun(this.#setup, this.#journal, { run, input, keep: "nothing", opening }, undefined);
  }

  /** What brings a run that is not in progress there. @throws TransitionNotAllowedError when it has failed for good. */
  #startRecords(): readonly AgentRecord[] {
    const { statusState, agentId, clock } = this.#journal;
    const { current } = statusState;
    if (!current || current.status === "in_progress") return [];
    if (current.record?.recoverable === false)
      throw new TransitionNotAllowedError(agentId, "failed", "in_progress", []);
    return statusRecords(statusState, { status: "in_progress", at: clock.now() });
  }

  async #branch(checkpointId: string): Promise<RunResult<unknown>> {
    const journal = this.#journal;
    const log = await journal.readAll();
    const target = findCheckpoint(this.#request.agentId, log.index, checkpointId);
    const state = foldTo(log.index, target);
    if (!state) throw new UnreadableValueError(`the line to checkpoint ${target.id} is not in the log`);
    await this.#assertFits({ log, state });
    const head = foldTo(log.index);
    // Where the unfinished run is anyway: with what its next node did already.
    if (head?.checkpoint === target && log.index.unfinished)
      return this.#run(await this.#resumed({ log, state: head }));
    const { run, reopens } = runAt(target, log.index);
    // A finished run keeps its recorded result: what branches off from it is a run of its own.
    const own: RunRecord = reopens ? { ...run, run: randomId(), at: journal.clock.now() } : run;
    const begun = branchFrom(target, "branch", own, reopens, journal);
    const opening = [...(reopens ? [] : this.#startRecords()), ...begun.records];
    const recorder = restoredRun(
      this.#setup,
      journal,
      { log, state },
      { lane: begun.lane, run: own, opening, head: begun.head, by: "branch" },
    );
    const effects = branchEffects(log, target, (tool) => this.#setup.registry.has(tool));
    return { ...(await this.#run(recorder)), ...(hasEffects(effects) && { effects }) } as RunResult<unknown>;
  }

  /** @throws UnfinishedRunError when the other run cannot be finished now: it waits. */
  async #finishFirst(stored: StoredState | undefined, keep: "history" | "nothing"): Promise<RunResult<unknown>> {
    const first = await this.#run(await this.#resumed(stored));
    if (first.status !== "completed") throw new UnfinishedRunError(this.#request.agentId, first.runId);
    return this.#afterOther(keep);
  }

  /** Another run ended just now on this journal; its end is what the new one follows. */
  async #afterOther(keep: "history" | "nothing"): Promise<RunResult<unknown>> {
    const log = await this.#journal.readAll();
    const state = foldTo(log.index);
    return this.#begin(keep, state && { log, state });
  }

  async #begin(keep: "history" | "nothing", before: StoredState | undefined): Promise<RunResult<unknown>> {
    const { options, input } = this.#request;
    const runId = ("runId" in options ? options.runId : undefined) ?? randomId();
    const run = runRecord(this.#journal, runId, input);
    return this.#run(newRun(this.#setup, this.#journal, { run, input, keep, opening: [run] }, before));
  }

  async #run(recorder: RunRecorder): Promise<RunResult<unknown>> {
    const { options } = this.#request;
    this.#journal.forgetHead();
    const verify = "verify" in options ? options.verify : undefined;
    this.#journal.endFacts = completionData(this.#setup, this.#journal, recorder.run.run, verify);
    this.#recorders.add(recorder);
    const { lost } = this.#journal;
    const signal = options.signal ? AbortSignal.any([options.signal, lost]) : lost;
    return this.#next({ ...this.#request, options: { ...options, signal }, start: recorder.start });
  }

  async #assertFits({ log, state }: StoredState): Promise<void> {
    const { graph } = this.#setup;
    const journal = this.#journal;
    await assertStrategyFits(graph, this.#request.agentId, state, log.reader(state), journal.sha256, () =>
      journal.readAll(),
    );
    if (state.checkpoint && state.checkpoint.record.node !== "finish") graph.resolve(state.checkpoint.record.node);
    if (state.settings) toolsByNames(this.#setup.tools, state.settings.tools);
  }
}

function hasEffects({ remaining, missing }: BranchEffects): boolean {
  return remaining.length > 0 || missing.length > 0;
}

/** Which effects a branch from a checkpoint finds that it did not make, and which of its own line it misses. */
export function branchEffects(
  log: AgentLog,
  target: CheckpointPoint,
  hasInverse: (tool: string) => boolean,
): BranchEffects {
  const calls = loggedCalls(log.index, log.blobs);
  const { revert, irreversible, inDoubt } = planRollback(log.index, calls, target, hasInverse);
  const line = foldTo(log.index, target)?.calls;
  const missing = calls.filter(({ call }) => line?.has(call) && log.index.reverted.has(call));
  return {
    remaining: [...revert, ...irreversible, ...inDoubt].map(revertibleCall),
    missing: missing.map(revertibleCall),
  };
}

const resultsSchema: z.ZodType = z.array(z.unknown());

/** What looks at the output of a run before its end is recorded; `undefined` when there is nothing to look at. */
export function completionData(
  { participants, log }: PersistenceSetup,
  journal: Journal,
  runId: string,
  verify: ((output: unknown) => readonly unknown[] | PromiseLike<readonly unknown[]>) | undefined,
): ((output: unknown) => Promise<CompletionData>) | undefined {
  const changesFiles = participants.some(({ key }) => key === fileNoteKey);
  if (!verify && !changesFiles) return undefined;
  const { writer, agentId } = journal;
  return async (output) => {
    const results = verify && (checkSchema(resultsSchema, await verify(output), "verification") as readonly unknown[]);
    await journal.durable();
    const files = changesFiles ? await changedFiles(log, agentId, runId) : [];
    return {
      ...(results && { verification: results.map((result) => writer.value(result, "a verification result")) }),
      ...(files.length > 0 && { files: writer.value(files, "the files that the run changed") }),
    };
  };
}

/**
 * A run that rejects is recorded as failed, and stays unfinished. Nothing is recorded of one that was refused before it
 * began, that the caller aborted (it counts as interrupted), or whose storage failed (nothing more can be).
 */
export async function recordFailure(journal: Journal, { options }: RunRequest, error: unknown): Promise<void> {
  if (!journal.running || journal.failed || journal.lost.aborted || options.signal?.aborted) return;
  try {
    journal.append(
      statusRecords(journal.statusState, { status: "failed", at: journal.clock.now(), error: describeError(error) }),
    );
    await journal.durable();
  } catch {
    // The run rejects with what made it fail; that its failure could not be recorded leaves it interrupted.
  }
}
