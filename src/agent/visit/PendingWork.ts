import type { AbortGrace } from "../feature/FeaturePipeline.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";

/** A tool call, a model request or a request for input that has not settled. */
interface Work {
  /** Of a tool call or a request for input; a model request has none. */
  id: string | undefined;
  /** The tool call that started it. Absent: the node itself did. */
  readonly within: string | undefined;
  readonly controller: AbortController;
  /** Fulfilled when the work has settled, either way. */
  ended: Promise<unknown>;
  /** The run no longer waits for it. */
  detached: boolean;
  /** A request for input that has no answer. */
  request?: InputRequestEvent;
  /** True for the call of an agent that waits for an answer. */
  waits?: boolean;
}

/**
 * The tool calls and requests of one visit that have not settled. Their callers can be rejected before the work itself
 * ends, so that a tool that ignores its signal does not hold up a rollback.
 */
export class PendingWork {
  readonly #pending = new Set<Work>();
  readonly #onDrop: (request: InputRequestEvent) => void;
  /** Created with the first work: most nodes start none. */
  #detached: Promise<never> | undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #started = 0;
  /** Wakes {@link settledButWaiting} when work has ended or only waits. */
  #changed: () => void = () => undefined;

  /** @param onDrop is called for each open request that nobody waits for any more. */
  constructor(onDrop: (request: InputRequestEvent) => void) {
    this.#onDrop = onDrop;
  }

  /** How often work has started or a request was found to have no answer. */
  get started(): number {
    return this.#started;
  }

  /** Starts work at once. The promise settles as the work does, or rejects when the work is detached. */
  start<Result>(
    id: string | undefined,
    within: string | undefined,
    run: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const controller = new AbortController();
    const work: Work = { id, within, controller, ended: Promise.resolve(), detached: false };
    this.#pending.add(work);
    this.#started++;
    const result = run(controller.signal).finally(() => {
      this.#pending.delete(work);
      if (work.id !== undefined) this.dropRequests(work.id);
      this.#changed();
    });
    work.ended = result.catch(() => undefined);
    if (!this.#detached) {
      this.#detached = new Promise<never>((_resolve, reject) => (this.#reject = reject));
      this.#detached.catch(() => undefined);
    }
    return Promise.race([result, this.#detached]);
  }

  /** Gives a tool call another id. */
  rename(id: string, renamed: string): void {
    for (const work of this.#pending) if (work.id === id) work.id = renamed;
  }

  /** Marks a request as one that has no answer: from now on it only waits. */
  hold(request: InputRequestEvent): void {
    for (const work of this.#pending) if (work.id === request.requestId) work.request = request;
    this.#started++;
    this.#changed();
  }

  /** The agent that runs for a tool call waits for an answer, or goes on. */
  setWaiting(id: string, waits: boolean): void {
    for (const work of this.#pending) if (work.id === id) work.waits = waits;
    this.#started++;
    this.#changed();
  }

  /** Whether the agents of some tool calls wait for an answer. */
  get hasWaitingAgents(): boolean {
    return [...this.#pending].some(({ waits }) => waits);
  }

  /** Requests that have no answer, in the order in which they were made. */
  get openRequests(): readonly InputRequestEvent[] {
    return [...this.#pending].flatMap(({ request }) => request ?? []);
  }

  /** Drops the open requests of a tool call, or of the node itself, that ended without waiting for them. */
  dropRequests(within?: string): void {
    for (const work of this.#pending) {
      if (!work.request || work.within !== within) continue;
      this.#pending.delete(work);
      this.#onDrop(work.request);
    }
  }

  /** Aborts all work but some tool calls. */
  abort(reason: unknown, except?: readonly string[]): void {
    for (const { controller } of this.#others(except)) controller.abort(reason);
  }

  /** Aborts the work that a tool call has started, and what that has started, and stops waiting for it. */
  abortWithin(id: string, reason: unknown): void {
    for (const work of this.#pending) {
      if (work.within !== id || work.controller.signal.aborted) continue;
      work.controller.abort(reason);
      work.detached = true;
      if (work.id !== undefined) this.abortWithin(work.id, reason);
    }
    this.#changed();
  }

  /** Rejects the promises that {@link start} returned, and stops waiting for work that was aborted. */
  detach(reason: unknown): void {
    for (const work of this.#pending) work.detached = work.controller.signal.aborted;
    this.#reject(reason);
  }

  /** Waits, within the grace period, for all but one tool call. Resolves to the ids of those that have not ended. */
  async unendedAfter({ ms, clock }: AbortGrace, except?: readonly string[]): Promise<readonly string[]> {
    const others = this.#others(except);
    if (others.length > 0) {
      let cancel: () => void = () => undefined;
      const late = new Promise<void>((resolve) => (cancel = clock.after(ms, resolve)));
      await Promise.race([Promise.all(others.map(({ ended }) => ended)), late]);
      cancel();
    }
    return this.#others(except).flatMap(({ id }) => id ?? []);
  }

  /** Waits for all work that is not detached, and for work that starts meanwhile. */
  async settled(): Promise<void> {
    for (;;) {
      const awaited = [...this.#pending].filter(({ detached }) => !detached);
      if (awaited.length === 0) return;
      await Promise.all(awaited.map(({ ended }) => ended));
    }
  }

  /** {@link settled}, except for open requests and the tool calls that wait for them. One caller at a time. */
  async settledButWaiting(): Promise<void> {
    while (this.#isActive()) await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  #isActive(): boolean {
    const callers = new Set([...this.#pending].map(({ within }) => within));
    return [...this.#pending].some(
      ({ id, request, waits, detached }) => !detached && !request && !waits && (id === undefined || !callers.has(id)),
    );
  }

  #others(except: readonly string[] = []): readonly Work[] {
    return [...this.#pending].filter(({ id }) => id === undefined || !except.includes(id));
  }
}
