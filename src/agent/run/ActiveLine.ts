import type { ModelUsage } from "../../checkpoint/tokenUsage/ModelUsage.ts";
import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import { ExecutionMovedError } from "../../errors/runErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { SubAgent } from "../agentAsTool/agentAsTool.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { InterruptOptions, MoveOptions } from "../feature/AgentRun.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";
import type { AbortGrace, ClaimableOption } from "../feature/FeaturePipeline.ts";
import type { Pipeline } from "../feature/Pipeline.ts";
import type { RunStart, BranchResult } from "../feature/RunRequest.ts";
import { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";
import type { DeltaSender } from "../node/DeltaSender.ts";
import { type AgentCall, NodeExecution, type VisitedRun } from "../node/NodeExecution.ts";
import { type ActiveRun, Budget } from "./ActiveRun.ts";

interface LinePosition {
  readonly position: RunStart;
  readonly state: RunState;
  line: RunLine;
  visitBase: number;
  visitOrdinal: number;
  /** The number of node executions since the start or the last move. */
  visits: number;
}

export interface Nesting {
  readonly parent: ActiveLine;
  /** The path of the node that a branch runs. "" for a sub-agent, which runs a whole strategy. */
  readonly root: string;
  readonly branch?: string | undefined;
  readonly call?: { readonly toolCallId: string; readonly toolName: string };
  readonly onWaiting: () => void;
  /** Called before a waiting branch or sub-agent continues. Resolves when it can continue. */
  readonly onGoingOn: () => Promise<void>;
}

export class ActiveLine implements VisitedRun {
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly pipeline: Pipeline;
  readonly agentPath: readonly string[];
  readonly budget: Budget;
  readonly #nesting: Nesting | undefined;
  readonly #nested = new Set<ActiveLine>();
  #place: LinePosition;
  #isFresh: boolean;
  #visit: NodeExecution | undefined;
  #next: RunStart | undefined;
  /** The move in progress. The promise never rejects. */
  #moving: Promise<void> | undefined;
  #moveFailure: { readonly error: unknown } | undefined;
  /** True after the enclosing run, branch or sub-agent has moved. Later results are discarded. */
  isClosed = false;
  /** True after another branch of the same node has failed and this branch must not continue. */
  isStopped = false;
  readonly #iterationAtStart: number;
  #requests: readonly InputRequestEvent[] = [];
  /** Ends the wait for an answer. Continues from the given position, or stops if there is no position. */
  #goOn: ((start: Promise<RunStart | undefined> | undefined) => void) | undefined;
  /** Returns the position to continue from, if the answer arrives between the node's end and the start of the wait. */
  #goOnAtOnce: (() => Promise<RunStart | undefined>) | undefined;
  /** True from the end of a node that waits for input until the wait starts. */
  #beginsToWait = false;
  /** True from an answer until the new position is read. All answers that arrive until then are used. */
  #isAnswered = false;

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
  get isAgent(): boolean {
    return !this.#nesting || this.#nesting.call !== undefined;
  }
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
  get isLeaving(): boolean {
    return this.isClosed || this.isStopped || this.#moving !== undefined || this.#next !== undefined;
  }
  get #iterations(): number {
    return this.state.iteration - this.#iterationAtStart;
  }

  /** Returns the recorded results of the branches, or `undefined` if the branches must run. */
  takeJoined(): ReadonlyMap<string, BranchResult> | undefined {
    const { joined } = this.position;
    return this.#place.visits === 0 ? joined : undefined;
  }

  /** Starts a node execution. @throws IterationLimitError if the run has reached its maximum number of executions. */
  enter(nodeId: string, input: unknown): NodeExecution {
    this.budget.take(nodeId);
    this.#place.visits++;
    const at = { base: this.visitBase, ordinal: this.#place.visitOrdinal++ };
    return (this.#visit = new NodeExecution(this, nodeId, input, at));
  }

  /** Returns whether a feature implements an option. For a sub-agent, the calling agents must have the feature too. */
  claims(option: ClaimableOption): boolean {
    return this.pipeline.claims(option) && (this.parent?.claims(option) ?? true);
  }

  addUsage(usage: unknown): void {
    this.run.addUsage(usage);
  }

  leave(): void {
    this.#visit = undefined;
  }

  countIteration(): void {
    this.state.iteration++;
    this.budget.add(1);
  }

  abortVisit(): void {
    this.#visit?.abort(this.signal.reason);
    this.#endWait();
  }

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
      if (this.#moving || this.isClosed) throw new ExecutionMovedError(this.#visit?.nodeId ?? this.position.nodeId);
      const moving = this.interrupt(options).then(async (unended) => this.moveTo(await prepare(unended)));
      this.#moving = moving.catch((error: unknown) => void (this.#moveFailure = { error }));
      // The node can have ended as waiting while another move was in progress.
      this.goOn(() => this.#target());
      return moving;
    });
  }

  /** Waits for a move in progress. @throws the error of the move, or `otherwise` if no move is in progress. */
  async arrival(otherwise: unknown): Promise<void> {
    if (!(await this.#target()) && !this.isClosed) throw otherwise;
  }

  /** Continues at the target of the last move. Resolves to `false` without a move. @throws the error of the move */
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

  /** Waits for an answer, a move, or the end of the run. Resolves to whether the execution continues. */
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

  /** Reports the wait to the enclosing run, branch or sub-agent. If the run itself waits, it ends. */
  waits(): void {
    if (this.#nesting) this.#nesting.onWaiting();
    else this.stopWaiting();
  }

  /** Reports the end of the wait to the enclosing run, branch or sub-agent. Resolves when the work can continue. */
  async goesOn(): Promise<void> {
    await this.#nesting?.onGoingOn();
  }

  stopWaiting(): void {
    this.#endWait();
    for (const line of this.#nested) line.stopWaiting();
  }

  #endWait(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.(undefined);
  }

  /** Stops all enclosed branches and sub-agents after their current nodes. */
  stopNested(): void {
    for (const line of this.#nested) {
      line.isStopped = true;
      line.#endWait();
      line.stopNested();
    }
  }

  goOn(start: () => Promise<RunStart | undefined>): boolean {
    if (this.#isAnswered) return true;
    const goOn = this.#goOn;
    this.#isAnswered = this.#beginsToWait || goOn !== undefined;
    if (this.#beginsToWait) this.#goOnAtOnce = start;
    if (!goOn) return this.#isAnswered;
    this.#goOn = undefined;
    goOn(this.goesOn().then(() => (this.#isOver ? undefined : start())));
    return true;
  }

  get #isOver(): boolean {
    return this.isClosed || this.isStopped || this.signal.aborted;
  }

  /** Closes a branch or sub-agent because the run moves. Resolves to the ids of calls that did not settle in time. */
  async #close(options: InterruptOptions): Promise<readonly string[]> {
    if (!this.isClosed) this.budget.add(-this.#iterations);
    this.isClosed = true;
    this.#endWait();
    return this.interrupt(options);
  }

  async #target(): Promise<RunStart | undefined> {
    await this.#moving;
    if (this.#moveFailure) throw this.#moveFailure.error;
    return this.#next;
  }

  #placeAt(position: RunStart): LinePosition {
    const { line, visitBase, visitOrdinal } = position;
    return { position, state: new RunState(position.state, this.definition), line, visitBase, visitOrdinal, visits: 0 };
  }
}
