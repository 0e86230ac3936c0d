import { addUsage, type ModelUsage } from "../../checkpoint/status/ModelUsage.ts";
import type { RunLine } from "../../checkpoint/toolCallId.ts";
import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { IterationLimitError } from "../../errors/agent/IterationLimitError.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { InterruptOptions } from "../feature/AgentRun.ts";
import type { Pipeline } from "../feature/Pipeline.ts";
import type { RunRequest, RunStart } from "../feature/RunRequest.ts";
import { RunState } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";
import { DeltaSender } from "../visit/DeltaSender.ts";
import { NodeExecution, type VisitedRun } from "../visit/NodeExecution.ts";

/** What a move replaces as a whole. */
interface Place {
  readonly position: RunStart;
  readonly state: RunState;
  visitBase: number;
  visitOrdinal: number;
}

/** A run in progress. */
export class ActiveRun implements VisitedRun {
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly pipeline: Pipeline;
  readonly deltas: DeltaSender | undefined;
  #place: Place;
  #isFresh: boolean;
  #visits = 0;
  #visit: NodeExecution | undefined;
  #next: RunStart | undefined;
  /** A move in progress; fulfilled when it has ended, either way. */
  #moving: Promise<void> | undefined;
  #usage: ModelUsage | undefined;
  #moveFailure: { readonly error: unknown } | undefined;

  constructor(
    readonly definition: AgentDefinition,
    request: RunRequest,
    readonly sha256: Sha256,
  ) {
    if (request.kind === "resume" && !request.start)
      throw new TypeError("A resume needs a start. The feature that claims it has to set request.start.");
    this.agentId = request.agentId;
    this.signal = request.options.signal ?? new AbortController().signal;
    const { onDelta } = request.options;
    this.deltas = onDelta && new DeltaSender(onDelta);
    this.graph = definition.graph;
    this.tools = definition.tools;
    this.pipeline = definition.pipeline;
    this.#isFresh = request.start === undefined;
    this.#place = this.#placeAt(request.start ?? freshStart(request));
    this.#usage = request.start?.usage;
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
    return this.position.line;
  }
  get generation(): number {
    return this.position.generation;
  }
  get state(): RunState {
    return this.#place.state;
  }
  get usage(): ModelUsage | undefined {
    return this.#usage;
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

  /** Begins a visit. @throws IterationLimitError when the run has visited as many nodes as it may. */
  enter(nodeId: string, input: unknown): NodeExecution {
    const { maxIterations } = this.definition;
    // A move restores an earlier iteration count, so endless moves are found only by counting visits as well.
    if (Math.max(this.state.iteration, this.#visits) >= maxIterations)
      throw new IterationLimitError(maxIterations, nodeId);
    this.#visits++;
    const at = { base: this.visitBase, ordinal: this.#place.visitOrdinal++ };
    return (this.#visit = new NodeExecution(this, nodeId, input, at));
  }

  addUsage(usage: unknown): void {
    this.#usage = addUsage(this.#usage, usage);
  }

  /** Ends a visit. */
  leave(): void {
    this.#visit = undefined;
  }

  /** Aborts the current visit, because the run is aborted. */
  abortVisit(): void {
    this.#visit?.abort(this.signal.reason);
  }

  async interrupt(options: InterruptOptions = {}): Promise<readonly string[]> {
    return (await this.#visit?.interrupt(options)) ?? [];
  }

  moveTo(start: RunStart): void {
    this.#visit?.close();
    this.#next = start;
  }

  async move(options: InterruptOptions, prepare: (unended: readonly string[]) => Promise<RunStart>): Promise<void> {
    if (this.#moving) throw new ExecutionMovedError(this.#visit?.nodeId ?? this.position.nodeId);
    const moving = this.interrupt(options).then(async (unended) => this.moveTo(await prepare(unended)));
    this.#moving = moving.catch((error: unknown) => void (this.#moveFailure = { error }));
    return moving;
  }

  /** Waits for a move in progress. @throws its error, or `otherwise` if there was no move. */
  async arrival(otherwise: unknown): Promise<void> {
    if (!(await this.#target())) throw otherwise;
  }

  /** Continues at the target of the last move; resolves to whether there was one. @throws the error of a failed move. */
  async takeMove(): Promise<boolean> {
    const next = await this.#target();
    if (!next) return false;
    this.#next = undefined;
    this.#moving = undefined;
    this.#isFresh = false;
    this.#place = this.#placeAt(next);
    return true;
  }

  async #target(): Promise<RunStart | undefined> {
    await this.#moving;
    if (this.#moveFailure) throw this.#moveFailure.error;
    return this.#next;
  }

  #placeAt(position: RunStart): Place {
    const { visitBase, visitOrdinal } = position;
    return { position, state: new RunState(position.state, this.definition), visitBase, visitOrdinal };
  }
}

function freshStart({ agentId, input, options }: RunRequest): RunStart {
  const runId = ("runId" in options ? options.runId : undefined) ?? globalThis.crypto.randomUUID();
  return {
    nodeId: "start",
    input,
    state: {},
    line: { agentId, runId, lane: 1 },
    generation: 0,
    visitBase: 0,
    visitOrdinal: 0,
    runId,
  };
}
