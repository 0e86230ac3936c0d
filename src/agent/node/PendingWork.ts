import type { AbortGrace } from "../feature/FeaturePipeline.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";
import { withinOf } from "../feature/ContextBinding.ts";
import { nextTurn } from "../../internal/nextTurn.ts";

interface Work {
  id: string | undefined;
  readonly within: string | undefined;
  readonly controller: AbortController;
  /** Resolves when the work has settled, or when its request is dropped. Never rejects. */
  readonly ended: Promise<void>;
  readonly end: () => void;
  detached: boolean;
  request?: InputRequestEvent;
  /** True while the sub-agent of this call waits for an answer. */
  waits?: boolean;
}

/** The unsettled tool calls and requests of one node execution. */
export class PendingWork {
  readonly #pending = new Set<Work>();
  readonly #onDrop: (request: InputRequestEvent) => void;
  /** Functions that reject the unsettled promises of {@link start}. */
  readonly #rejections = new Set<(reason: unknown) => void>();
  /** The ids of tool calls that have ended, and `undefined` if the node has ended. */
  readonly #over = new Set<string | undefined>();
  #started = 0;
  /** Resolves when the next piece of work settles or starts to wait. `undefined` if no code awaits this promise. */
  #change: Promise<void> | undefined;
  #changed: () => void = () => undefined;

  constructor(onDrop: (request: InputRequestEvent) => void) {
    this.#onDrop = onDrop;
  }

  /** Starts work immediately. The returned promise settles with the work, or rejects on {@link detach}. */
  start<Result>(
    id: string | undefined,
    within: string | undefined,
    run: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const controller = new AbortController();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const work: Work = { id, within, controller, ended, end, detached: false };
    this.#pending.add(work);
    if (id !== undefined) this.#over.delete(id);
    this.#started++;
    return new Promise((resolve, reject) => {
      this.#rejections.add(reject);
      const result = run(controller.signal).finally(() => {
        this.#pending.delete(work);
        this.#rejections.delete(reject);
        if (work.id !== undefined) this.dropRequests(work.id);
        this.#changed();
      });
      result.then(end, end);
      result.then(resolve, reject);
    });
  }

  /** Marks the tool of a call as running. @param named The id that an interceptor may have given to the call. */
  enter(id: string, named: string): void {
    for (const work of this.#pending) if (work.id === id) work.id = named;
    this.#over.delete(named);
  }

  /**
   * Marks a request as unanswered. Unless this process must end its timer, {@link atRest} does not wait for it.
   * @returns false if its tool or node has ended, so that the request is removed.
   */
  hold(request: InputRequestEvent): boolean {
    for (const work of this.#pending) if (work.id === request.requestId) work.request = request;
    this.#started++;
    const within = withinOf(request.context);
    const isOver = this.isOver(within);
    if (isOver) this.dropRequests(within);
    this.#changed();
    return !isOver;
  }

  /** Returns whether the tool of a call, or the node, has ended. */
  isOver(within: string | undefined): boolean {
    return this.#over.has(within);
  }

  /** Marks the timer of a request as ended, so that the request counts as active work again. */
  wake(requestId: string): void {
    for (const work of this.#pending) if (work.id === requestId) delete work.request;
    this.#started++;
  }

  setWaiting(id: string, waits: boolean): void {
    for (const work of this.#pending) if (work.id === id) work.waits = waits;
    this.#started++;
    this.#changed();
  }

  get hasWaitingAgents(): boolean {
    return [...this.#pending].some(({ waits }) => waits);
  }

  get openRequests(): readonly InputRequestEvent[] {
    return [...this.#pending].flatMap(({ request }) => (request && onlyWaits(request) ? request : []));
  }

  /** Removes the open requests of an ended tool call or node. Later requests of it are removed immediately. */
  dropRequests(within?: string): void {
    this.#over.add(within);
    for (const work of this.#pending) {
      if (!work.request || work.within !== within) continue;
      this.#pending.delete(work);
      work.end();
      this.#onDrop(work.request);
    }
    this.#changed();
  }

  abort(reason: unknown, except?: readonly string[]): void {
    for (const { controller } of this.#others(except)) controller.abort(reason);
  }

  /** Aborts all work that a tool call started, directly or indirectly. {@link settled} then ignores this work. */
  abortWithin(id: string, reason: unknown): void {
    for (const work of this.#pending) {
      if (work.within !== id || work.controller.signal.aborted) continue;
      work.controller.abort(reason);
      work.detached = true;
      if (work.id !== undefined) this.abortWithin(work.id, reason);
    }
    this.#changed();
  }

  /** Rejects the promises of {@link start}. From now on, {@link settled} ignores aborted work. */
  detach(reason: unknown): void {
    for (const work of this.#pending) work.detached = work.controller.signal.aborted;
    for (const reject of this.#rejections) reject(reason);
    this.#rejections.clear();
  }

  /** Waits for all other calls, at most for the grace period. Resolves to the ids of calls that did not settle. */
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

  /** Waits for all work that {@link detach} did not exclude, including work that starts during the wait. */
  async settled(): Promise<void> {
    for (;;) {
      const awaited = [...this.#pending].filter(({ detached }) => !detached);
      if (awaited.length === 0) return;
      await Promise.all(awaited.map(({ ended }) => ended));
    }
  }

  /**
   * Like {@link settled}, but ignores open requests and the tool calls that wait for them. Resolves after a turn of the
   * event loop in which no work started.
   *
   * @param blocked Returns the number of results that wait until this promise resolves. Defaults to 0.
   */
  async atRest(blocked: () => number = () => 0): Promise<void> {
    for (let started = -1; started !== this.#started || this.#active > blocked(); await nextTurn()) {
      started = this.#started;
      await this.#settledBut(blocked);
    }
  }

  async #settledBut(blocked: () => number): Promise<void> {
    while (this.#active > blocked()) await this.#nextChange();
  }

  recheck(): void {
    this.#changed();
  }

  #nextChange(): Promise<void> {
    return (this.#change ??= new Promise((resolve) => {
      this.#changed = () => {
        this.#change = undefined;
        resolve();
      };
    }));
  }

  get #active(): number {
    const callers = new Set([...this.#pending].map(({ within }) => within));
    return [...this.#pending].filter(
      ({ id, request, waits, detached }) =>
        !detached && !(request && onlyWaits(request)) && !waits && (id === undefined || !callers.has(id)),
    ).length;
  }

  #others(except: readonly string[] = []): readonly Work[] {
    return [...this.#pending].filter(({ id }) => id === undefined || !except.includes(id));
  }
}

function onlyWaits({ timer }: InputRequestEvent): boolean {
  return timer?.mayWait !== false;
}
