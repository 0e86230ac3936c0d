import type { RunLine } from "../../checkpoint/toolCallId.ts";
import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { RunSuspendedError } from "../../errors/agent/RunSuspendedError.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { InterruptOptions } from "../feature/AgentRun.ts";
import { PendingWork, type FlightPlan } from "./PendingWork.ts";
import type { InputRequestEvent, NodeVisit, PipelineEvents } from "../feature/PipelineEvents.ts";
import type { VisitedRun } from "./VisitedRun.ts";
import type { RunState } from "../state/RunState.ts";

/** The run can go on only when these are answered. */
export interface Wait {
  readonly waiting: readonly InputRequestEvent[];
}

/**
 * One visit of one node, from its start until its body and all calls made in it have settled, or until nothing is left
 * but to wait. A move and a wait close it: from then on everything that belongs to it throws, whatever still runs.
 */
export class NodeExecution {
  readonly run: VisitedRun;
  readonly nodeId: string;
  readonly input: unknown;
  readonly at: NodeVisit;
  /** Of the moment the visit began: a later move changes those of the run. */
  readonly line: RunLine;
  readonly state: RunState;
  readonly #flights = new PendingWork();
  /** Made when somebody asks for the signal: most nodes never do. */
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #moved: ExecutionMovedError | undefined;
  /** Set when the run was aborted and went on without what ignored it. */
  #abandoned: { readonly reason: unknown } | undefined;
  #abandon: () => void = () => undefined;
  #cancelGrace: () => void = () => undefined;
  /** The run waits for nothing of this visit any more. */
  #left = false;
  #suspended: RunSuspendedError | undefined;
  #failure: { readonly error: unknown } | undefined;
  readonly #requestIds = new Set<string>();
  #watching = false;
  #wait: (wait: Wait) => void = () => undefined;

  constructor(run: VisitedRun, nodeId: string, input: unknown, at: NodeVisit) {
    this.run = run;
    this.nodeId = nodeId;
    this.input = input;
    this.at = at;
    this.line = run.line;
    this.state = run.state;
  }

  /** Aborted when the run is aborted or moves. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** Whether the run has left this visit. */
  get isMoved(): boolean {
    return this.#moved !== undefined;
  }

  /** What a feature threw during the visit: it fails the run even when the node caught it. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** @throws ExecutionMovedError, RunSuspendedError when the run has left this visit. */
  assertOpen(): void {
    const closed = this.#moved ?? this.#suspended;
    if (closed) throw closed;
    if (this.#abandoned) throw this.#abandoned.reason;
  }

  /** Runs a tool call or a request that a move or an abort of the run cuts short. */
  async start<Result>(plan: FlightPlan, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.assertOpen();
    this.signal.throwIfAborted();
    return this.#flights.start(plan, work);
  }

  /** Notes that a request is made under an id; false when one was before. */
  claimRequest(requestId: string): boolean {
    if (this.#requestIds.has(requestId)) return false;
    this.#requestIds.add(requestId);
    return true;
  }

  /** A request finds no answer. Never resolves; rejects when the run moves or is aborted before all else has ended. */
  hold(request: InputRequestEvent, signal: AbortSignal): Promise<never> {
    signal.throwIfAborted();
    this.#flights.hold(request);
    void this.#watch();
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  /** The node's body has ended: requests that it did not wait for are not asked any more. */
  endBody(): void {
    this.#flights.forgetRequests(undefined);
  }

  /** A tool call goes on under another id, under which it may ask for a move. */
  rename(toolCallId: string, renamed: string): void {
    this.#flights.rename(toolCallId, renamed);
  }

  /** Tells listeners; what one of them throws fails the run. A visit the run has left is not told about. */
  async tell<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    if (this.#moved || this.#suspended || this.#abandoned) return;
    try {
      await this.run.pipeline.emit(name, event);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Notes what a feature threw, and throws it. */
  fail(error: unknown): never {
    this.#failure ??= { error };
    throw error;
  }

  /** Aborts everything in flight because the run is aborted; it is waited for until the grace is over. */
  abort(reason: unknown): void {
    this.#abort(reason);
    this.#flights.abort(reason);
    if (this.#left) return;
    const { ms, clock } = this.run.pipeline.abortGrace;
    this.#cancelGrace = clock.after(ms, () => {
      this.#abandoned = { reason };
      this.#flights.detach(reason);
      this.#abandon();
    });
  }

  /**
   * Resolves with the work, or with the open requests once nothing but them goes on, or to `undefined` when the run was
   * aborted and the grace ends first.
   */
  async untilLeft<Result>(work: Promise<Result>): Promise<Result | Wait | undefined> {
    try {
      return await new Promise<Result | Wait | undefined>((resolve, reject) => {
        this.#wait = resolve;
        this.#abandon = () => resolve(undefined);
        work.then(resolve, reject);
      });
    } finally {
      this.#left = true;
      this.#cancelGrace();
    }
  }

  /** Closes the visit, aborts all in flight but the call that asks, and lets go of whoever waits for it. */
  close(except?: string): void {
    if (this.#moved) return;
    this.#moved = new ExecutionMovedError(this.nodeId);
    this.#abort(this.#moved);
    this.#flights.abort(this.#moved, except);
    this.#flights.detach(this.#moved);
  }

  /** {@link close}, then waits for what is in flight; resolves to the ids of tool calls that did not end in time. */
  async interrupt({ except }: InterruptOptions): Promise<readonly string[]> {
    this.close(except);
    await this.#flights.ended(except, this.run.pipeline.abortGrace);
    return this.#flights.toolCallIds(except);
  }

  /** Resolves when nothing of the visit goes on that the run has to wait for. */
  settled(): Promise<void> {
    return this.#flights.settled();
  }

  /**
   * Waits until all that goes on has ended, what follows from it included, and nothing but open requests is left. Then
   * the visit is closed, and whoever waits for a request is left waiting: the node runs again when it is answered.
   */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    let launched: number;
    do {
      launched = this.#flights.launched;
      await this.#flights.settledButWaiting();
      await nextTurn();
    } while (launched !== this.#flights.launched);
    this.#watching = false;
    const { openRequests } = this.#flights;
    if (openRequests.length === 0 || this.#moved || this.#aborted) return;
    this.#suspended = new RunSuspendedError(this.nodeId);
    this.#wait({ waiting: openRequests });
  }

  #abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}
