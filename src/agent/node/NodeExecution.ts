import type { RunLine } from "../../checkpoint/ids/toolCallId.ts";
import { ExecutionMovedError, RunSuspendedError } from "../../errors/runErrors.ts";
import { onAbort } from "../../internal/abortable.ts";
import { warn } from "../../internal/warn.ts";
import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { SubAgent } from "../agentAsTool/agentAsTool.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { AgentRun, InterruptOptions } from "../feature/AgentRun.ts";
import { EndOrder } from "../feature/EndOrder.ts";
import type { AbortGrace, ClaimableOption } from "../feature/FeaturePipeline.ts";
import { type Pipeline, markRunFailure } from "../feature/Pipeline.ts";
import type { InputRequestEvent, NodeVisit, PipelineEvents } from "../feature/PipelineEvents.ts";
import type { RunStart } from "../feature/RunRequest.ts";
import { CallChanges } from "../state/CallChanges.ts";
import type { RunState } from "../state/RunState.ts";
import type { DeltaSender } from "./DeltaSender.ts";
import { PendingWork } from "./PendingWork.ts";

/** The members of a run that a node execution needs in addition to those for features. */
export interface VisitedRun extends AgentRun {
  readonly definition: AgentDefinition;
  readonly pipeline: Pipeline;
  readonly sha256: Sha256;
  readonly abortGrace: AbortGrace;
  /** The position at which the run, branch or sub-agent started, or continued after its last move. */
  readonly position: RunStart;
  readonly deltas: DeltaSender | undefined;
  claims(option: ClaimableOption): boolean;
  addUsage(usage: unknown): void;
  /** Called when the node waits for input. Ends the waits of its branches and sub-agents. Returns their requests. */
  beginWaiting(): readonly InputRequestEvent[];
  callAgent(agent: SubAgent, call: AgentCall): Promise<unknown>;
}

export interface AgentCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly onWaiting: (waits: boolean) => void;
}

/** The requests that must be answered before the run can continue. */
export interface Wait {
  readonly waiting: readonly InputRequestEvent[];
}

/**
 * One execution of a node. It lasts until the node and all its calls have settled, or until only unanswered requests
 * are left. A move or a wait closes the execution. All members of the contexts of a closed execution throw, even if the
 * code of the node still runs.
 */
export class NodeExecution {
  /** The lane and state at the start of the execution. A later move changes those of the run. */
  readonly line: RunLine;
  readonly state: RunState;
  /** `undefined` until a tool call changes the state. */
  changes: CallChanges | undefined;
  /** The entries of the history, and their number at the start. Later appends change the same list. */
  readonly #history: { readonly entries: readonly NumberedMessage[]; readonly length: number };
  readonly pending: PendingWork = new PendingWork((request) => this.#onDropped(request));
  readonly ends: EndOrder = new EndOrder(this.pending);
  /** Created when the signal is first read, because most nodes never read the signal. */
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  /** Creates the error for calls after the execution is closed by its end, a move, a wait or the grace period. */
  #closed: (() => unknown) | undefined;
  isMoved = false;
  #isLeft = false;
  #mayLeaveUnanswered = false;
  /** The error of a feature. The run fails even if the node catches this error. */
  failure: { readonly error: unknown } | undefined;
  readonly #requestIds = new Set<string>();
  /** Functions that cancel timers: of sleeps, by request id, and of time limits, by tool-call id. */
  readonly #sleeps = new Map<string, () => void>();
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
    const { entries, length } = run.state.history;
    this.#history = { entries, length };
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** @throws ExecutionMovedError, RunSuspendedError, or the abort reason if the execution is closed. */
  assertOpen(): void {
    if (this.#closed) throw this.#closed();
  }

  /** Starts work with {@link PendingWork.start}. A move or an abort of the run interrupts the work. */
  async start<Result>(
    id: string | undefined,
    within: string | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    this.assertOpen();
    this.signal.throwIfAborted();
    return this.pending.start(id, within, work);
  }

  /** Returns the notes about changes by tool calls. The first call that changes the state creates them. */
  changesByCalls(): CallChanges {
    const { entries, length } = this.#history;
    return (this.changes ??= new CallChanges(this.state, entries.slice(0, length)));
  }

  claimRequest(id: string): boolean {
    const isFree = !this.#requestIds.has(id);
    this.#requestIds.add(id);
    return isFree;
  }

  /** Allows the node to end with unanswered requests, for example because it used another answer or failed. */
  allowUnanswered(): void {
    this.#mayLeaveUnanswered = true;
  }

  /** Keeps an unanswered request pending. The promise never resolves. It rejects if the run moves or is aborted. */
  hold(request: InputRequestEvent, signal: AbortSignal): Promise<never> {
    signal.throwIfAborted();
    this.pending.hold(request);
    void this.#watch();
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  /** Resolves when a timer is due. Rejects like {@link hold}. Never settles if the run waits or drops the request. */
  sleep(request: InputRequestEvent, signal: AbortSignal): Promise<void> {
    const { requestId, timer: { leftMs, mayWait, event } = { leftMs: 0, mayWait: false } } = request;
    signal.throwIfAborted();
    if (leftMs <= 0) return Promise.resolve();
    // If the tool or node of the request has ended, no code awaits the timer.
    if (!this.pending.hold(request)) return new Promise(() => undefined);
    if (mayWait) void this.#watch();
    const { clock } = this.run.abortGrace;
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => () => {
        cancel();
        this.pending.wake(requestId);
        settle();
      };
      const stopTimer = leftMs < Infinity ? clock.after(leftMs, end(resolve)) : undefined;
      const stopArrival = event?.onArrival?.(end(resolve));
      const stopInProcess =
        event &&
        clock.after(event.inProcessMs ?? 0, () => {
          this.pending.recheck();
          void this.#watch();
        });
      const unlisten = onAbort(
        signal,
        end(() => reject(signal.reason)),
      );
      const cancel = () => {
        stopTimer?.();
        stopArrival?.();
        stopInProcess?.();
        unlisten();
        this.#sleeps.delete(requestId);
      };
      this.#sleeps.set(requestId, cancel);
    });
  }

  /** Registers the function that cancels a time limit when the node ends. Returns a function that unregisters it. */
  addLimit(toolCallId: string, cancel: () => void): () => void {
    this.#sleeps.set(toolCallId, cancel);
    return () => void this.#sleeps.delete(toolCallId);
  }

  setWaiting(toolCallId: string, waits: boolean): void {
    this.pending.setWaiting(toolCallId, waits);
    if (waits) void this.#watch();
  }

  /** Emits an event unless the execution is closed. An error of a listener fails the run. */
  async emit<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    if (this.#closed) return;
    try {
      await this.run.pipeline.emit(name, event);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): never {
    this.failure ??= { error };
    markRunFailure(error);
    throw error;
  }

  /** Aborts all pending work because the run is aborted. The run waits for this work during the grace period. */
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

  /** Resolves to the result of the work, or to the open requests if only these are left. `undefined` after an abort. */
  async untilLeft<Result>(work: Promise<Result>): Promise<Result | Wait | undefined> {
    try {
      return await new Promise<Result | Wait | undefined>((resolve, reject) => {
        this.#leave = resolve;
        work.then(resolve, reject);
      });
    } finally {
      this.#isLeft = true;
      this.#cancelGrace();
      // The execution is over, so the promises of the remaining sleeps and limits never settle.
      for (const stop of this.#sleeps.values()) stop();
    }
  }

  /** Closes the execution because the run moves. Aborts all work except the tool calls in `except`. */
  close(except?: readonly string[]): void {
    if (this.isMoved) return;
    this.isMoved = true;
    const reason = new ExecutionMovedError(this.nodeId);
    this.#closed = () => reason;
    this.#abort(reason, except);
    this.pending.detach(reason);
  }

  /** Makes later calls on the contexts throw. The error is created at the first such call, because it has a stack. */
  end(): void {
    this.#closed ??= () => new ExecutionMovedError(this.nodeId);
  }

  /** Closes the execution and waits for pending work. Resolves to the ids of tool calls that did not settle in time. */
  async interrupt({ except }: InterruptOptions): Promise<readonly string[]> {
    this.close(except);
    return this.pending.unendedAfter(this.run.abortGrace, except);
  }

  /** Closes the execution when only open requests are left. Their promises never settle, as the node runs again. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    await this.pending.atRest();
    this.#isWatching = false;
    const { openRequests, hasWaitingAgents } = this.pending;
    if ((openRequests.length === 0 && !hasWaitingAgents) || this.isMoved || this.#aborted) return;
    this.#closed = () => new RunSuspendedError(this.nodeId);
    this.#leave({ waiting: [...openRequests, ...this.run.beginWaiting()] });
  }

  /** Warns about open requests for input. Sleeps cause no warning, because a `Promise.race` often leaves one. */
  #onDropped({ nodeId, requestId, timer }: InputRequestEvent): void {
    this.#sleeps.get(requestId)?.();
    if (timer) return;
    if (this.#mayLeaveUnanswered || this.isMoved || this.#aborted) return;
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
