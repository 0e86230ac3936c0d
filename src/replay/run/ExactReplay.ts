import { endsOf, runOf, visitIn, visitOf } from "../../agent/feature/ContextBinding.ts";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import type { NodeEvent, PipelineEvents } from "../../agent/feature/PipelineEvents.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { NextStep } from "../../agent/strategy/StrategyGraph.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import { ExecutionMovedError } from "../../errors/runErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { LineRecording, RecordedCheckpoint, Recording } from "../recording/Recording.ts";
import {
  type Divergence,
  type FoundDifference,
  messageDifferences,
  shownCall,
  shownError,
  ReplayStop,
  sameValue,
} from "../results/Divergence.ts";
import { LineReplay, allLines, LinesAtRest, type ReplayedLine } from "./LineReplay.ts";
import type { PersistenceAnswers } from "./ReplayedPersistence.ts";

type Place = Pick<NextStep, "nodeId" | "input">;

/** Follows the recording of a run while its strategy runs again, up to the first divergence. */
export class ExactReplay implements PersistenceAnswers {
  readonly recording: Recording;
  readonly sha256: Sha256;
  readonly root: LineReplay;
  divergence: Divergence | undefined;
  /** The errors with which nodes may fail at the end of the recording. */
  readonly failures = new Set<unknown>();
  /** True if a node waits for a result that the recording does not have. */
  isInNode = false;
  /** The runs that completed a node which the recorded run left by a move before the node had a checkpoint. */
  readonly abandoned = new WeakSet<AgentRun>();
  readonly #controller = new AbortController();
  readonly #stop = new ReplayStop();
  readonly #lines: LinesAtRest;
  readonly #byStart = new WeakMap<RunStart, LineReplay>();
  readonly #byRun = new WeakMap<AgentRun, LineReplay>();

  constructor(recording: Recording, sha256: Sha256) {
    this.recording = recording;
    this.sha256 = sha256;
    this.root = new LineReplay(recording.line, sha256);
    this.#lines = new LinesAtRest(this.root, () => this.#onRest());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  isStop(error: unknown): boolean {
    return error === this.#stop;
  }

  /** Returns the start of a line, by which {@link of} finds the line of a run. */
  starting(line: LineReplay, fresh: RunStart): RunStart {
    const start = line.startFrom(fresh);
    this.#byStart.set(start, line);
    return start;
  }

  nested(parent: LineReplay, recorded: LineRecording): LineReplay {
    return new LineReplay(recorded, this.sha256, parent);
  }

  of(run: AgentRun): LineReplay {
    const known = this.#byRun.get(run) ?? (run.start && this.#byStart.get(run.start));
    if (!known) throw new TypeError("The replay has no line for a run.");
    this.#byRun.set(run, known);
    this.#lines.tick();
    return known;
  }

  /** Waits at the end of the recording of a line. Resolves if the recorded run was moved from this place. */
  async hold(line: ReplayedLine): Promise<void> {
    if (this.signal.aborted) throw this.#stop;
    const held = line.hold();
    void this.#lines.watch();
    await held;
  }

  /** Waits like {@link hold}, in a node that the recorded run left. */
  async leave(context: AgentContext): Promise<never> {
    const { nodeId } = context;
    this.isInNode = true;
    await this.hold(this.of(runOf(context)));
    throw new ExecutionMovedError(nodeId);
  }

  diverge({ branch, agentPath }: AgentRun, nodeId: string, { messages = [], ...found }: FoundDifference): never {
    const at = { nodeId, ...(branch !== undefined && { branch }), agentPath: [...agentPath] };
    this.divergence ??= { ...found, ...at, messages };
    this.#end();
    throw this.#stop;
  }

  /** Handles a request or call that is not recorded. */
  unrecorded(context: AgentContext, found: FoundDifference): Promise<never> {
    const run = runOf(context);
    const line = this.of(run);
    if (!line.isTail) return this.diverge(run, context.nodeId, found);
    line.unrecorded ??= found;
    return this.leave(context);
  }

  install(pipeline: FeaturePipeline): void {
    pipeline.onStrategyStarting(({ run, next }) => this.#begin(run, next));
    pipeline.onBranchStarting(({ run, next }) => this.#begin(run, next));
    pipeline.onRunMoved(({ run, next }) => this.#begin(run, next));
    pipeline.onNodeStarting((event) => this.#enter(event));
    pipeline.onNodeCompleted((event) => this.#complete(event));
    pipeline.onLineWaiting(({ run, requests }) => {
      const [{ nodeId, request } = {}] = requests;
      this.diverge(run, nodeId ?? "", { what: "input", actual: { prompt: request?.prompt } });
    });
    pipeline.onNodeFailed((event) => this.#fail(event));
    pipeline.onForkStarting(({ run, nodeId, input, keys }) => {
      this.#cross(run, { nodeId, input }, nodeId);
      const missing = this.of(run)
        .branchesAt(run)
        .find((key) => !keys.includes(key));
      if (missing !== undefined) this.diverge(run, nodeId, { what: "branches", expected: missing });
    });
    pipeline.onBranchesJoined(({ run, nodeId, input, results }) => {
      const line = this.of(run);
      line.joined = results;
      line.isJoining = true;
      this.#cross(run, { nodeId, input }, nodeId);
    });
    pipeline.aroundNode((event, next) => this.#visit(event, next));
    pipeline.onBranchCompleted(({ run, output }) => this.#completeLine(run, output));
    pipeline.onBranchFailed(({ run }) => this.#endLine(run));
    pipeline.onStrategyCompleted(({ run, output }) => this.#completeLine(run, output));
    pipeline.onStrategyFailed(({ run }) => this.#endLine(run));
  }

  async move(context: AgentContext, actual: string | object | undefined): Promise<void> {
    const run = runOf(context);
    const line = this.of(run);
    if (line.isTail) return this.hold(line);
    // The recorded node continued, so the rollback was refused.
    if (typeof actual !== "object") throw new CheckpointNotFoundError(context.agentId, actual, []);
    this.diverge(run, context.nodeId, { what: "path", actual });
  }

  async save(
    context: AgentContext,
    isBeginning: boolean,
  ): Promise<{ readonly checkpointId: string; readonly version: number } | undefined> {
    const run = runOf(context);
    const found = this.of(run).crossWithin(run, isBeginning ? visitIn(visitOf(context)) : undefined);
    return found && { checkpointId: found.checkpointId, version: found.version };
  }

  #begin(run: AgentRun, next: NextStep): void {
    const line = this.of(run);
    line.begin(run);
    this.#cross(run, next, next.nodeId);
    this.#leavePart(run, line);
  }

  async #visit(event: NodeEvent, next: (event: NodeEvent) => Promise<unknown>): Promise<unknown> {
    const run = runOf(event.context);
    const line = this.of(run);
    if (!line.isJoining) return next(event);
    line.isJoining = false;
    if (!line.isAtEndOfPart || !line.nextPart) return next(event);
    this.#jump(run, line);
    return undefined;
  }

  #enter({ run, nodeId, context }: PipelineEvents["nodeStarting"]): void {
    const line = this.of(run);
    line.current = { run, nodeId, visit: visitIn(visitOf(context)) };
    line.unrecorded = undefined;
    run.state.history.mark();
    run.state.storage.mark();
    const ends = line.records.endsOf(visitIn(visitOf(context)));
    // Only several results need an order.
    if (ends.length > 1) for (const { key } of ends) endsOf(context).add(key);
  }

  async #complete({ run, nodeId, next }: PipelineEvents["nodeCompleted"]): Promise<void> {
    const line = this.of(run);
    this.#assertAllAsked(line);
    if (this.#cross(run, next, nodeId)) return;
    const hasMore = line.nextPart ? !line.isAtEndOfPart : line.records.hasVisit([run.visitBase, run.visitOrdinal]);
    if (!line.isTail || (next.nodeId !== "finish" && hasMore)) return;
    await this.hold(line);
    this.abandoned.add(run);
  }

  /** Accepts the failure of a node if the recording ends in this node. */
  #fail({ run, nodeId, context, error, unresolved }: PipelineEvents["nodeFailed"]): void {
    if (this.signal.aborted || this.divergence) return;
    const line = this.of(run);
    if (unresolved) line.crossUnresolved();
    if (line.isTail && line.records.unasked(visitIn(visitOf(context))).length === 0) {
      this.failures.add(error);
      return;
    }
    this.diverge(run, nodeId, { what: "failure", actual: shownError(error) });
  }

  /** Compares the next node, its input and the history with the next checkpoint of the recording. */
  #cross(run: AgentRun, next: Place, nodeId: string): boolean {
    const line = this.of(run);
    const { part } = line;
    const found = line.cross(run, next);
    const wanted = found ?? line.missedAt(run.state.iteration);
    if (wanted && (!found || found.nodeId !== next.nodeId)) this.#leavesPath(run, nodeId, wanted, next);
    if (!found) return false;
    if (!sameValue(found.input, next.input))
      this.diverge(run, nodeId, { what: "output", expected: found.input, actual: next.input });
    const isLast = found.nodeId === "finish" || (line.isAtEndOfPart && line.nextPart);
    if (line.history.differs && isLast) this.assertHistory(run, nodeId, "messages");
    if (part === line.part) this.#leavePart(run, line);
    return true;
  }

  /** @throws a stop if the history differs from the recorded history */
  assertHistory(
    run: AgentRun,
    nodeId: string,
    what: "messages" | "request",
    expected: readonly Message[] = this.of(run).history.expected,
  ): void {
    if (!this.of(run).history.differs) return;
    const actual = run.state.history.messages;
    this.diverge(run, nodeId, { what, expected, actual, messages: messageDifferences(expected, actual) });
  }

  #leavePart(run: AgentRun, line: LineReplay): void {
    // A line that joins its branches can leave only from its next visit.
    if (line.isAtEndOfPart && line.nextPart && !line.isJoining) this.#jump(run, line);
  }

  #jump(run: AgentRun, line: LineReplay): void {
    const start = line.enterNextPart(run);
    this.#byStart.set(start, line);
    run.moveTo(start);
    for (const each of allLines(line)) each.release();
    line.nested.clear();
  }

  #leavesPath(run: AgentRun, nodeId: string, wanted: RecordedCheckpoint, { nodeId: actual, input }: Place): never {
    const isLate = wanted.iteration !== run.state.iteration;
    const shown = (place: Place, visits: number) => ({ ...place, ...(isLate && { visits }) });
    return this.diverge(run, nodeId, {
      what: "path",
      expected: shown({ nodeId: wanted.nodeId, input: wanted.input }, wanted.iteration),
      actual: shown({ nodeId: actual, input }, run.state.iteration),
    });
  }

  /** Checks the end of a line. The last checkpoint of a completed line contains the number of its visits. */
  #completeLine(run: AgentRun, output: unknown): void {
    const line = this.of(run);
    const missed = line.missedAt(Infinity);
    // A line that was moved to its end several times has passed only the first checkpoint at the end.
    const isHere = missed?.nodeId === "finish" && missed.iteration === run.state.iteration;
    if (missed && !isHere)
      this.#leavesPath(run, line.current?.nodeId ?? "start", missed, { nodeId: "finish", input: output });
    this.#endLine(run);
  }

  #endLine(run: AgentRun): void {
    this.of(run).end();
    // After the end of this line, all other lines can be held.
    void this.#lines.watch();
  }

  /** Continues the outermost line that was moved, or ends the replay. */
  #onRest(): void {
    let lines: readonly ReplayedLine[] = [this.root];
    while (lines.length > 0) {
      const moved = lines.find((line) => line instanceof LineReplay && line.run && line.isTail && line.nextPart);
      if (moved instanceof LineReplay && moved.run) return this.#jump(moved.run, moved);
      lines = lines.flatMap(({ nested }) => [...nested]);
    }
    try {
      for (const line of allLines(this.root)) if (line instanceof LineReplay) this.#assertAllAsked(line);
    } catch (error) {
      if (!this.isStop(error)) throw error;
    }
    this.#end();
  }

  /** Compares the requests of the current visit with its recorded results. */
  #assertAllAsked({ current, unrecorded, records }: LineReplay): void {
    if (!current) return;
    const { run, nodeId, visit } = current;
    const [missing] = records.unasked(visit);
    if (!missing) return;
    const [what, expected] =
      "message" in missing ? (["request", missing.message] as const) : (["call", shownCall(missing)] as const);
    this.diverge(run, nodeId, { what, expected, ...(unrecorded && { actual: unrecorded.actual }) });
  }

  #end(): void {
    this.#controller.abort(this.#stop);
    for (const line of allLines(this.root)) line.release({ error: this.#stop });
  }
}
