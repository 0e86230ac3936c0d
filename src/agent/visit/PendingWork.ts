import type { AbortGrace } from "../feature/AbortGrace.ts";
import type { InputRequestEvent } from "../feature/PipelineEvents.ts";

/** What is launched: a tool call or a request by its id, a model request without. */
export interface FlightPlan {
  readonly id?: string | undefined;
  /** The tool call in which it is asked for; absent: the node itself asks. */
  readonly within?: string | undefined;
}

interface Flight {
  id: string | undefined;
  readonly within: string | undefined;
  readonly controller: AbortController;
  /** Fulfilled when the work has settled, either way. */
  ended: Promise<void>;
  /** Aborted by a move: whether it ever ends is not the run's concern any more. */
  abandoned: boolean;
  /** A request that nobody has answered. */
  request?: InputRequestEvent;
}

/**
 * The tool calls and requests in flight during one visit of a node. Whoever waits for one can be let go before it ends,
 * since a tool that ignores its signal must not hold up a rollback.
 */
export class PendingWork {
  readonly #flights = new Set<Flight>();
  /** Made with the first flight: most nodes launch none. */
  #released: Promise<never> | undefined;
  #release: (reason: unknown) => void = () => undefined;
  #launched = 0;
  /** Wakes who waits for a flight to end or to become an open request. */
  #changed: () => void = () => undefined;

  /** How many were launched, or became open requests, so far. */
  get launched(): number {
    return this.#launched;
  }

  /** Begins work at once; settles as the work does, or when it is let go. */
  start<Result>({ id, within }: FlightPlan, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    const flight: Flight = { id, within, controller, ended: Promise.resolve(), abandoned: false };
    this.#flights.add(flight);
    this.#launched++;
    const result = work(controller.signal).finally(() => {
      this.#flights.delete(flight);
      if (flight.id !== undefined) this.forgetRequests(flight.id);
      this.#changed();
    });
    flight.ended = result.then(
      () => undefined,
      () => undefined,
    );
    this.#released ??= this.#makeReleased();
    return Promise.race([result, this.#released]);
  }

  #makeReleased(): Promise<never> {
    const released = new Promise<never>((_resolve, reject) => (this.#release = reject));
    released.catch(() => undefined);
    return released;
  }

  /** A call goes on under another id. */
  rename(id: string, renamed: string): void {
    for (const flight of this.#flights) if (flight.id === id) flight.id = renamed;
  }

  /** A request has found no answer: from now on it only waits. */
  hold(request: InputRequestEvent): void {
    for (const flight of this.#flights) if (flight.id === request.requestId) flight.request = request;
    this.#launched++;
    this.#changed();
  }

  /** Requests that nobody has answered, in the order in which they were made. */
  get openRequests(): readonly InputRequestEvent[] {
    return [...this.#flights].flatMap(({ request }) => request ?? []);
  }

  /** Who made requests has ended without waiting for them: they are not asked any more. */
  forgetRequests(within: string | undefined): void {
    for (const flight of this.#flights) if (flight.request && flight.within === within) this.#flights.delete(flight);
  }

  /** Aborts all but one call. */
  abort(reason: unknown, except?: string): void {
    for (const flight of this.#flights) {
      if (except === undefined || flight.id !== except) flight.controller.abort(reason);
    }
  }

  /** Rejects what was launched for those who wait for it, and stops waiting for what was aborted. */
  detach(reason: unknown): void {
    for (const flight of this.#flights) flight.abandoned = flight.controller.signal.aborted;
    this.#release(reason);
  }

  /** Waits until all but one call have ended, but no longer than the grace. */
  async ended(except: string | undefined, { ms, clock }: AbortGrace): Promise<void> {
    const others = this.#others(except);
    if (others.length === 0) return;
    let cancel: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (cancel = clock.after(ms, resolve)));
    await Promise.race([Promise.all(others.map(({ ended }) => ended)), late]);
    cancel();
  }

  /** The ids of tool calls in flight, but one. */
  toolCallIds(except: string | undefined): readonly string[] {
    return this.#others(except).flatMap(({ id }) => id ?? []);
  }

  /** Waits for everything in flight that was not let go, also for what begins meanwhile. */
  async settled(): Promise<void> {
    for (;;) {
      const awaited = [...this.#flights].filter(({ abandoned }) => !abandoned);
      if (awaited.length === 0) return;
      await Promise.all(awaited.map(({ ended }) => ended));
    }
  }

  /** {@link settled}, but for open requests and the tool calls that cannot end before those do. For one who waits at a time. */
  async settledButWaiting(): Promise<void> {
    while (this.#goesOn()) await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  #goesOn(): boolean {
    const holding = new Set([...this.#flights].map(({ within }) => within));
    return [...this.#flights].some(
      ({ id, request, abandoned }) => !abandoned && !request && (id === undefined || !holding.has(id)),
    );
  }

  #others(except: string | undefined): readonly Flight[] {
    return [...this.#flights].filter(({ id }) => except === undefined || id !== except);
  }
}
