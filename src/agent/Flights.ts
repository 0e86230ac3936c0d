import type { AbortGrace } from "./AbortGrace.ts";

interface Flight {
  toolCallId: string | undefined;
  readonly controller: AbortController;
  /** Fulfilled when the work has settled, either way. */
  ended: Promise<void>;
  /** Aborted by a move: whether it ever ends is not the run's concern any more. */
  abandoned: boolean;
}

/**
 * The tool calls and model requests in flight during one visit of a node. Whoever waits for one can be let go before it
 * ends, since a tool that ignores its signal must not hold up a rollback.
 */
export class Flights {
  readonly #flights = new Set<Flight>();
  readonly #released: Promise<never>;
  #release: (reason: unknown) => void = () => undefined;

  constructor() {
    this.#released = new Promise<never>((_resolve, reject) => (this.#release = reject));
    this.#released.catch(() => undefined);
  }

  /** Begins work at once; settles as the work does, or when it is let go. */
  launch<Result>(toolCallId: string | undefined, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    const flight: Flight = { toolCallId, controller, ended: Promise.resolve(), abandoned: false };
    this.#flights.add(flight);
    const result = work(controller.signal).finally(() => this.#flights.delete(flight));
    flight.ended = result.then(
      () => undefined,
      () => undefined,
    );
    return Promise.race([result, this.#released]);
  }

  /** A call goes on under another id. */
  rename(toolCallId: string, renamed: string): void {
    for (const flight of this.#flights) if (flight.toolCallId === toolCallId) flight.toolCallId = renamed;
  }

  /** Aborts all but one call. */
  abort(reason: unknown, except?: string): void {
    for (const flight of this.#flights) {
      if (except === undefined || flight.toolCallId !== except) flight.controller.abort(reason);
    }
  }

  /** Rejects what was launched for those who wait for it, and stops waiting for what was aborted. */
  letGo(reason: unknown): void {
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
    return this.#others(except).flatMap(({ toolCallId }) => toolCallId ?? []);
  }

  /** Waits for everything in flight that was not let go, also for what begins meanwhile. */
  async settled(): Promise<void> {
    for (;;) {
      const awaited = [...this.#flights].filter(({ abandoned }) => !abandoned);
      if (awaited.length === 0) return;
      await Promise.all(awaited.map(({ ended }) => ended));
    }
  }

  #others(except: string | undefined): readonly Flight[] {
    return [...this.#flights].filter(({ toolCallId }) => except === undefined || toolCallId !== except);
  }
}
