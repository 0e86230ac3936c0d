import type { ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { RunLine } from "../../checkpoint/toolCallId.ts";
import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { InterruptOptions, MoveOptions } from "../feature/AgentRun.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";
import type { AbortGrace, ClaimableOption } from "../feature/FeaturePipeline.ts";
import type { Pipeline } from "../feature/Pipeline.ts";
import type { SubAgent } from "../feature/SubAgent.ts";
import type { RunStart } from "../feature/RunRequest.ts";
import { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";
import type { DeltaSender } from "../visit/DeltaSender.ts";
import { type AgentCall, NodeExecution, type VisitedRun } from "../visit/NodeExecution.ts";
import type { ActiveRun } from "./ActiveRun.ts";
import { Budget } from "./Budget.ts";
import type { BranchResult } from "../feature/BranchResult.ts";

/** What a move replaces as a whole. */
interface Place {
  readonly position: RunStart;
  readonly state: RunState;
  line: RunLine;
  visitBase: number;
  visitOrdinal: number;
  /** How many visits have begun here. */
  visits: number;
}

/** Where a line is nested in another one. */
export interface Nesting {
  readonly parent: ActiveLine;
  /** The path of the node that it visits, with all that is in it; "" for a sub-agent, which visits a strategy. */
  readonly root: string;
  readonly branch?: string | undefined;
  /** The tool call that a sub-agent runs for. Absent: it is a branch. */
  readonly call?: { readonly toolCallId: string; readonly toolName: string };
  /** Told when the line waits. */
  readonly onWaiting: () => void;
  /** Told when a line that waits is to go on. Resolves when it may. */
  readonly onGoingOn: () => Promise<void>;
}

/** One line of a run: it visits one node after another. */
export class ActiveLine implements VisitedRun {
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly pipeline: Pipeline;
  readonly agentPath: readonly string[];
  /** What it counts its iterations against. */
  readonly budget: Budget;
  readonly #nesting: Nesting | undefined;
  /** Lines that are nested in this one and have not ended. */
  readonly #nested = new Set<ActiveLine>();
  #place: Place;
  #isFresh: boolean;
  #visit: NodeExecution | undefined;
  #next: RunStart | undefined;
  /** A move in progress; fulfilled when it has ended, either way. */
  #moving: Promise<void> | undefined;
  #moveFailure: { readonly error: unknown } | undefined;
  #isClosed = false;
  #isStopped = false;
  readonly #iterationAtStart: number;
  /** What it waits for. */
  #requests: readonly InputRequestEvent[] = [];
  /** Ends a wait: the line goes on from there, or does not. */
  #goOn: ((start: Promise<RunStart | undefined> | undefined) => void) | undefined;
  /** How it goes on though it has not begun to wait: it was answered after its visit had ended to wait. */
  #goOnAtOnce: (() => Promise<RunStart>) | undefined;
  /** True from the end of a visit that waits until the line waits. */
  #beginsToWait = false;
  /** True from an answer until the line has read how to go on: it then has every answer that was given meanwhile. */
  #isAnswered = false;

  /** @param nesting absent: it is the main line. */
  constructor(
    readonly run: ActiveRun<ActiveLine>,
    readonly definition: AgentDefinition,
    start: RunStart,
    { isFresh, nesting }: { readonly isFresh: boolean; readonly nesting?: Nesting | undefined },
  ) {
    const { agentId, signal } = run;
    this.agentId = agentId;
    this.signal = signal;
    this.graph = definition.graph;
    this.tools = definition.tools;
    this.pipeline = definition.pipeline;
    this.#nesting = nesting;
    const { parent, call } = nesting ?? {};
    this.agentPath = [...(parent?.agentPath ?? []), ...(call ? [call.toolName] : [])];
    this.#isFresh = isFresh;
    this.#place = this.#placeAt(start);
    const shares = parent !== undefined && !call;
    this.#iterationAtStart = shares ? parent.state.iteration : 0;
    this.budget = shares ? parent.budget : new Budget(definition.maxIterations);
    this.budget.add(this.#iterations);
    run.lines.add(this);
    if (nesting) nesting.parent.#nested.add(this);
  }

  get parent(): ActiveLine | undefined {
    return this.#nesting?.parent;
  }
  get root(): string {
    return this.#nesting?.root ?? "";
  }
  get branch(): string | undefined {
    return this.#nesting?.branch;
  }
  get call(): string | undefined {
    return this.#nesting?.call?.toolCallId;
  }
  /** Whether it is the main line of a run or of a sub-agent. */
  get isAgent(): boolean {
    return !this.#nesting || this.#nesting.call !== undefined;
  }
  /** What the lines wait for that are nested in this one. */
  get #nestedRequests(): readonly InputRequestEvent[] {
    return [...this.#nested].flatMap((line) => [...line.#requests, ...line.#nestedRequests]);
  }
  get abortGrace(): AbortGrace {
    return this.parent?.abortGrace ?? this.pipeline.abortGrace;
  }
  get sha256(): Sha256 {
    return this.run.sha256;
  }
  get deltas(): DeltaSender | undefined {
    return this.run.deltas;
  }
  get position(): RunStart {
    return this.#place.position;
  }
  get start(): RunStart | undefined {
    return this.#isFresh ? undefined : this.position;
  }
  get runId(): string {
    return this.position.runId;
  }
  get line(): RunLine {
    return this.#place.line;
  }
  set line(line: RunLine) {
    this.#place.line = line;
  }
  get generation(): number {
    return this.position.generation;
  }
  get state(): RunState {
    return this.#place.state;
  }
  get usage(): ModelUsage | undefined {
    return this.run.usage;
  }
  get visitOrdinal(): number {
    return this.#place.visitOrdinal;
  }
  get visitBase(): number {
    return this.#place.visitBase;
  }
  set visitBase(base: number) {
    this.#place.visitBase = base;
    this.#place.visitOrdinal = 0;
  }
  /** True once a line that it is nested in has moved: nothing of it counts any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }
  /** True once a branch beside it has failed and it is to go on no further. */
  get isStopped(): boolean {
    return this.#isStopped;
  }
  /** True while it moves, and once it is closed. */
  get isLeaving(): boolean {
    return this.#isClosed || this.#moving !== undefined || this.#next !== undefined;
  }
  /** How many nodes it has completed, those of its own branches included. */
  get #iterations(): number {
    return this.state.iteration - this.#iterationAtStart;
  }

  /** What the branches left that were joined where the line begins; `undefined`: they have to run. */
  takeJoined(): ReadonlyMap<string, BranchResult> | undefined {
    const { joined } = this.position;
    return this.#place.visits === 0 ? joined : undefined;
  }

  /** Begins a visit. @throws IterationLimitError when the run has visited as many nodes as it may. */
  enter(nodeId: string, input: unknown): NodeExecution {
    this.budget.take(nodeId);
    this.#place.visits++;
    const at = { base: this.visitBase, ordinal: this.#place.visitOrdinal++ };
    return (this.#visit = new NodeExecution(this, nodeId, input, at));
  }

  /** An agent that is called needs the feature in its caller, too. */
  claims(option: ClaimableOption): boolean {
    return this.pipeline.claims(option) && (this.parent?.claims(option) ?? true);
  }

  addUsage(usage: unknown): void {
    this.run.addUsage(usage);
  }

  /** Ends a visit. */
  leave(): void {
    this.#visit = undefined;
  }

  /** A node is completed. */
  countIteration(): void {
    this.state.iteration++;
    this.budget.add(1);
  }

  /** Aborts the current visit, because the run is aborted. */
  abortVisit(): void {
    this.#visit?.abort(this.signal.reason);
    this.#endWait();
  }

  /** The line has ended, in whatever way. */
  end(): void {
    this.run.lines.delete(this);
    if (this.#nesting) this.#nesting.parent.#nested.delete(this);
  }

  callAgent(agent: SubAgent, call: AgentCall): Promise<unknown> {
    return this.run.callAgent(this, agent, call);
  }

  async interrupt(options: InterruptOptions = {}): Promise<readonly string[]> {
    const nested = [...this.#nested].map((line) => line.#close(options));
    const unended = await Promise.all([this.#visit?.interrupt(options) ?? [], ...nested]);
    return unended.flat();
  }

  moveTo(start: RunStart): void {
    this.#visit?.close();
    for (const line of this.#nested) void line.#close({});
    this.#next = start;
  }

  async move(options: MoveOptions, prepare: (unended: readonly string[]) => Promise<RunStart>): Promise<void> {
    return this.run.inTurn(options.signal, async () => {
      if (this.#moving || this.#isClosed) throw new ExecutionMovedError(this.#visit?.nodeId ?? this.position.nodeId);
      const moving = this.interrupt(options).then(async (unended) => this.moveTo(await prepare(unended)));
      this.#moving = moving.catch((error: unknown) => void (this.#moveFailure = { error }));
      return moving;
    });
  }

  /** Waits for a move in progress. @throws its error, or `otherwise` if there was no move. */
  async arrival(otherwise: unknown): Promise<void> {
    if (!(await this.#target()) && !this.#isClosed) throw otherwise;
  }

  /** Continues at the target of the last move; resolves to whether there was one. @throws the error of a failed move. */
  async takeMove(): Promise<boolean> {
    const next = await this.#target();
    if (!next) return false;
    this.#next = undefined;
    this.#moving = undefined;
    this.#isFresh = false;
    const before = this.state.iteration;
    this.#place = this.#placeAt(next);
    this.budget.add(this.state.iteration - before);
    return true;
  }

  beginWaiting(): readonly InputRequestEvent[] {
    const requests = this.#nestedRequests;
    for (const line of this.#nested) line.stopWaiting();
    this.#beginsToWait = true;
    return requests;
  }

  /** Waits for an answer, for the end of the run, or for a move. Resolves to whether the line goes on. */
  async answered(requests: readonly InputRequestEvent[]): Promise<boolean> {
    const atOnce = this.#goOnAtOnce;
    this.#goOnAtOnce = undefined;
    this.#beginsToWait = false;
    if (this.#isOver) return false;
    const start = await (atOnce ? atOnce() : this.#answer(requests));
    this.#isAnswered = false;
    this.#next ??= start;
    return start !== undefined;
  }

  async #answer(requests: readonly InputRequestEvent[]): Promise<RunStart | undefined> {
    const answer = new Promise<RunStart | undefined>((resolve) => (this.#goOn = resolve));
    this.#requests = requests;
    this.waits();
    const start = await answer;
    this.#requests = [];
    return start;
  }

  /** The line waits. The main line that waits ends the run. */
  waits(): void {
    if (this.#nesting) this.#nesting.onWaiting();
    else this.stopWaiting();
  }

  /** The line waits no longer. Resolves when it may go on. */
  async goesOn(): Promise<void> {
    await this.#nesting?.onGoingOn();
  }

  /** Nothing is waited for any more, on this line and on those that are nested in it. */
  stopWaiting(): void {
    this.#endWait();
    for (const line of this.#nested) line.stopWaiting();
  }

  #endWait(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.(undefined);
  }

  /** The lines that are nested in it go on no further than to the end of their visits. */
  stopNested(): void {
    for (const line of this.#nested) {
      line.#isStopped = true;
      line.#endWait();
      line.stopNested();
    }
  }

  goOn(start: () => Promise<RunStart>): boolean {
    if (this.#isAnswered) return true;
    const goOn = this.#goOn;
    this.#isAnswered = this.#beginsToWait || goOn !== undefined;
    if (this.#beginsToWait) this.#goOnAtOnce = start;
    if (!goOn) return this.#isAnswered;
    this.#goOn = undefined;
    goOn(this.goesOn().then(() => (this.#isOver ? undefined : start())));
    return true;
  }

  /** True when it takes no further step. */
  get #isOver(): boolean {
    return this.#isClosed || this.#isStopped || this.signal.aborted;
  }

  /** A line that it is nested in moves. Resolves to the ids of the tool calls that did not end in time. */
  async #close(options: InterruptOptions): Promise<readonly string[]> {
    if (!this.#isClosed) this.budget.add(-this.#iterations);
    this.#isClosed = true;
    this.#endWait();
    return this.interrupt(options);
  }

  async #target(): Promise<RunStart | undefined> {
    await this.#moving;
    if (this.#moveFailure) throw this.#moveFailure.error;
    return this.#next;
  }

  #placeAt(position: RunStart): Place {
    const { line, visitBase, visitOrdinal } = position;
    return { position, state: new RunState(position.state, this.definition), line, visitBase, visitOrdinal, visits: 0 };
  }
}
