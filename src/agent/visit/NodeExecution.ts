import type { RunLine } from "../../checkpoint/toolCallId.ts";
import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { RunSuspendedError } from "../../errors/agent/RunSuspendedError.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { warn } from "../../internal/warn.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { AgentRun, InterruptOptions } from "../feature/AgentRun.ts";
import type { AbortGrace, ClaimableOption } from "../feature/FeaturePipeline.ts";
import type { Pipeline } from "../feature/Pipeline.ts";
import type { InputRequestEvent, NodeVisit, PipelineEvents } from "../feature/PipelineEvents.ts";
import { markRunFailure } from "../feature/runFailure.ts";
import type { SubAgent } from "../feature/SubAgent.ts";
import type { RunStart } from "../feature/RunRequest.ts";
import type { RunState } from "../state/RunState.ts";
import type { DeltaSender } from "./DeltaSender.ts";
import { PendingWork } from "./PendingWork.ts";

/** A run as the execution of a node needs it, beyond what features see. */
export interface VisitedRun extends AgentRun {
  readonly definition: AgentDefinition;
  readonly pipeline: Pipeline;
  readonly sha256: Sha256;
  /** Of the run that the line is part of. */
  readonly abortGrace: AbortGrace;
  /** Where the run began, or continued after the last move. */
  readonly position: RunStart;
  /** Absent: the answers of the model are not streamed. */
  readonly deltas: DeltaSender | undefined;
  /** Whether a feature does what an option asks for. */
  claims(option: ClaimableOption): boolean;
  /** Adds the tokens of a model request to those of the run. */
  addUsage(usage: unknown): void;
  /** The visit ends to wait: the lines that are nested in this one wait no longer. Returns what they waited for. */
  beginWaiting(): readonly InputRequestEvent[];
  /** Runs an agent for a tool call. Resolves to its output. */
  callAgent(agent: SubAgent, call: AgentCall): Promise<unknown>;
}

/** A tool call for which an agent runs. */
export interface AgentCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** As the schema of the tool returned it. */
  readonly input: unknown;
  /** Told when the agent waits for an answer, and when it goes on. */
  readonly onWaiting: (waits: boolean) => void;
}

/** The run can continue only when these requests are answered. */
export interface Wait {
  readonly waiting: readonly InputRequestEvent[];
}

/**
 * One visit of one node: from its start until its body and all calls made in it have settled, or until only unanswered
 * requests are left. A move and a wait close it: from then on everything that belongs to it throws, even if its code
 * still runs.
 */
export class NodeExecution {
  /** Of the moment the visit began: a later move changes those of the run. */
  readonly line: RunLine;
  readonly state: RunState;
  readonly pending: PendingWork = new PendingWork((request) => this.#warnOfDropped(request));
  /** Created when the signal is read: most nodes never read it. */
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  /** Gives the reason. Set when the node was left, and when the run moved, waits, or was aborted and its grace period is over. */
  #closed: (() => unknown) | undefined;
  #isMoved = false;
  #isLeft = false;
  #mayLeaveUnanswered = false;
  #failure: { readonly error: unknown } | undefined;
  readonly #requestIds = new Set<string>();
  #isWatching = false;
  #leave: (wait: Wait | undefined) => void = () => undefined;
  #cancelGrace: () => void = () => undefined;

  constructor(
    readonly run: VisitedRun,
    readonly nodeId: string,
    readonly input: unknown,
    readonly at: NodeVisit,
  ) {
    this.line = run.line;
    this.state = run.state;
  }

  /** Aborted when the run is aborted or moves. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** Whether the run has moved during this visit. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  /** What a feature threw during the visit. It fails the run even if the node catches it. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** @throws ExecutionMovedError, RunSuspendedError, or the reason of an abort when the visit is closed. */
  assertOpen(): void {
    if (this.#closed) throw this.#closed();
  }

  /** {@link PendingWork.start} in an open visit: a move or an abort of the run interrupts the work. */
  async start<Result>(
    id: string | undefined,
    within: string | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    this.assertOpen();
    this.signal.throwIfAborted();
    return this.pending.start(id, within, work);
  }

  /** Reserves an id that a request was given; false when this visit has used it. */
  claimRequest(id: string): boolean {
    const isFree = !this.#requestIds.has(id);
    this.#requestIds.add(id);
    return isFree;
  }

  /** From now on it is no mistake of the node if it leaves a request unanswered: another was answered, or something failed. */
  allowUnanswered(): void {
    this.#mayLeaveUnanswered = true;
  }

  /** Parks an unanswered request. Never resolves; rejects if the run moves or is aborted first. */
  hold(request: InputRequestEvent, signal: AbortSignal): Promise<never> {
    signal.throwIfAborted();
    this.pending.hold(request);
    void this.#watch();
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  /** The agent that runs for a tool call waits for an answer, or goes on. */
  setWaiting(toolCallId: string, waits: boolean): void {
    this.pending.setWaiting(toolCallId, waits);
    if (waits) void this.#watch();
  }

  /** Emits an event unless the visit is closed. What a listener throws fails the run. */
  async emit<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    if (this.#closed) return;
    try {
      await this.run.pipeline.emit(name, event);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Records what a feature threw, and throws it. */
  fail(error: unknown): never {
    this.#failure ??= { error };
    markRunFailure(error);
    throw error;
  }

  /** Aborts all pending work because the run is aborted. The run waits for it until the grace period is over. */
  abort(reason: unknown): void {
    this.#abort(reason);
    if (this.#isLeft) return;
    const { ms, clock } = this.run.abortGrace;
    this.#cancelGrace = clock.after(ms, () => {
      this.#closed ??= () => reason;
      this.pending.detach(reason);
      this.#leave(undefined);
    });
  }

  /**
   * Resolves with the work, to the open requests once only they are pending, or to `undefined` when the run was aborted
   * and the grace period is over.
   */
  async untilLeft<Result>(work: Promise<Result>): Promise<Result | Wait | undefined> {
    try {
      return await new Promise<Result | Wait | undefined>((resolve, reject) => {
        this.#leave = resolve;
        work.then(resolve, reject);
      });
    } finally {
      this.#isLeft = true;
      this.#cancelGrace();
    }
  }

  /** Closes the visit because the run moves: aborts all pending work but the call that asks, and rejects its callers. */
  close(except?: readonly string[]): void {
    if (this.#isMoved) return;
    this.#isMoved = true;
    const reason = new ExecutionMovedError(this.nodeId);
    this.#closed = () => reason;
    this.#abort(reason, except);
    this.pending.detach(reason);
  }

  /** The run has left the node: its contexts are closed. An error takes longer to make than the rest of a visit. */
  end(): void {
    this.#closed ??= () => new ExecutionMovedError(this.nodeId);
  }

  /** {@link close}, then waits for pending work. Resolves to the ids of tool calls that did not end in time. */
  async interrupt({ except }: InterruptOptions): Promise<readonly string[]> {
    this.close(except);
    return this.pending.unendedAfter(this.run.abortGrace, except);
  }

  /**
   * Waits until all work has ended, with the work that follows from it, and only open requests are pending. Then it
   * closes the visit without settling their promises: the node runs again when they are answered.
   */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    let started: number;
    do {
      started = this.pending.started;
      await this.pending.settledButWaiting();
      await nextTurn();
    } while (started !== this.pending.started);
    this.#isWatching = false;
    const { openRequests, hasWaitingAgents } = this.pending;
    if ((openRequests.length === 0 && !hasWaitingAgents) || this.#isMoved || this.#aborted) return;
    this.#closed = () => new RunSuspendedError(this.nodeId);
    this.#leave({ waiting: [...openRequests, ...this.run.beginWaiting()] });
  }

  #warnOfDropped({ nodeId, requestId }: InputRequestEvent): void {
    if (this.#mayLeaveUnanswered || this.#isMoved || this.#aborted) return;
    warn(
      "request_not_awaited",
      `Node "${nodeId}" asked for input (request ${requestId}) and did not wait for the answer, so nobody is asked. Await context.requestInput(…).`,
    );
  }

  #abort(reason: unknown, except?: readonly string[]): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
    this.pending.abort(reason, except);
  }
}
