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
import { NodeExecution, type VisitedRun } from "../visit/NodeExecution.ts";

/** A run while it goes on. Where it is and what it knows is replaced as a whole by a move. */
export class ActiveRun implements VisitedRun {
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly definition: AgentDefinition;
  readonly sha256: Sha256;
  #start: RunStart | undefined;
  #position: RunStart;
  #state: RunState;
  #visitBase: number;
  #visitOrdinal: number;
  #visits = 0;
  #visit: NodeExecution | undefined;
  #next: RunStart | undefined;
  /** A move under way; fulfilled when it has ended, either way. */
  #moving: Promise<void> | undefined;
  #moveFailure: { readonly error: unknown } | undefined;

  constructor(definition: AgentDefinition, request: RunRequest, sha256: Sha256) {
    if (request.kind === "resume" && !request.start)
      throw new TypeError("A resume needs a start. The feature that claims it has to set request.start.");
    this.definition = definition;
    this.agentId = request.agentId;
    this.signal = request.options.signal ?? new AbortController().signal;
    this.sha256 = sha256;
    this.#start = request.start;
    this.#position = request.start ?? freshStart(request);
    this.#state = this.#stateOf(this.#position);
    this.#visitBase = this.#position.visitBase;
    this.#visitOrdinal = this.#position.visitOrdinal;
  }

  get runId(): string {
    return this.#position.runId;
  }
  get graph(): StrategyGraph {
    return this.definition.graph;
  }
  get tools(): ReadonlyMap<string, AnyTool> {
    return this.definition.tools;
  }
  get pipeline(): Pipeline {
    return this.definition.pipeline;
  }
  get state(): RunState {
    return this.#state;
  }
  get line(): RunLine {
    return this.#position.line;
  }
  get generation(): number {
    return this.#position.generation;
  }
  get start(): RunStart | undefined {
    return this.#start;
  }
  get visitOrdinal(): number {
    return this.#visitOrdinal;
  }
  get visitBase(): number {
    return this.#visitBase;
  }
  set visitBase(base: number) {
    this.#visitBase = base;
    this.#visitOrdinal = 0;
  }

  /** Where the run began, or went on after the last move. */
  get position(): RunStart {
    return this.#position;
  }

  /** Begins a visit. @throws IterationLimitError when the run may visit no more nodes. */
  enter(nodeId: string, input: unknown): NodeExecution {
    const { maxIterations } = this.definition;
    // A move takes back the iteration count, so that circles of moves are found only by counting visits as well.
    if (Math.max(this.#state.iteration, this.#visits) >= maxIterations)
      throw new IterationLimitError(maxIterations, nodeId);
    this.#visits++;
    this.#visit = new NodeExecution(this, nodeId, input, { base: this.#visitBase, ordinal: this.#visitOrdinal++ });
    return this.#visit;
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
    if (this.#moving) throw new ExecutionMovedError(this.#visit?.nodeId ?? this.#position.nodeId);
    const moving = this.interrupt(options).then(async (unended) => this.moveTo(await prepare(unended)));
    this.#moving = moving.catch((error: unknown) => void (this.#moveFailure = { error }));
    return moving;
  }

  /** Waits for a move under way. @throws what made it fail, or `otherwise` when it leads nowhere. */
  async arrival(otherwise: unknown): Promise<void> {
    await this.#moving;
    if (this.#moveFailure) throw this.#moveFailure.error;
    if (!this.#next) throw otherwise;
  }

  /** Puts the run where the last move leads, if there was one. @throws what made the move fail. */
  async takeMove(): Promise<boolean> {
    await this.#moving;
    if (this.#moveFailure) throw this.#moveFailure.error;
    const next = this.#next;
    if (!next) return false;
    this.#next = undefined;
    this.#moving = undefined;
    this.#start = next;
    this.#position = next;
    this.#state = this.#stateOf(next);
    this.#visitBase = next.visitBase;
    this.#visitOrdinal = next.visitOrdinal;
    return true;
  }

  #stateOf(start: RunStart): RunState {
    return new RunState(start.state, this.definition);
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
