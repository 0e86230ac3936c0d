import type { Clock } from "./Clock.ts";

/** Runs work. On abort, rejects with the reason of the signal without waiting for the work. */
export async function abortable<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  let unlisten: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => (unlisten = onAbort(signal, () => reject(signal.reason))));
  try {
    return await Promise.race([work(), aborted]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    unlisten();
  }
}

/** Runs work. On abort, waits for the work during a grace period, and then rejects with the reason of the signal. */
export async function withGrace<Result>(
  signal: AbortSignal,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
  work: () => Result,
): Promise<Awaited<Result>> {
  signal.throwIfAborted();
  let cancel: () => void = () => undefined;
  let leave: () => void = () => undefined;
  const left = new Promise<never>((_resolve, reject) => (leave = () => reject(signal.reason)));
  const unlisten = onAbort(signal, () => (cancel = clock.after(ms, leave)));
  try {
    return await Promise.race([work(), left]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    cancel();
    unlisten();
  }
}

interface Relay {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const relays = new WeakMap<AbortSignal, Relay>();

/** Calls `callback` on abort. Returns a function that removes it. Adds only one listener to a signal. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const relay = relays.get(signal) ?? relayOf(signal);
  relay.callbacks.add(callback);
  return () => {
    relay.callbacks.delete(callback);
    if (relay.callbacks.size > 0) return;
    signal.removeEventListener("abort", relay.listener);
    relays.delete(signal);
  };
}

function relayOf(signal: AbortSignal): Relay {
  const callbacks = new Set<() => void>();
  const listener = () => {
    for (const callback of callbacks) callback();
  };
  const relay = { callbacks, listener };
  relays.set(signal, relay);
  signal.addEventListener("abort", listener, { once: true });
  return relay;
}

interface TimeLimit {
  /** The limit in milliseconds of the clock. `Infinity` for no limit. */
  readonly ms: number;
  readonly clock: Clock;
  readonly late: () => unknown;
}

/** Runs work with a signal that aborts after the time limit too. Rejects on abort, without waiting for the work. */
export async function withinTime<Result>(
  { ms, clock, late }: TimeLimit,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  if (ms === Infinity) return abortable(signal, () => work(signal));
  const controller = new AbortController();
  const unlisten = onAbort(signal, () => controller.abort(signal.reason));
  const cancel = clock.after(ms, () => controller.abort(late()));
  try {
    return await abortable(controller.signal, () => work(controller.signal));
  } finally {
    cancel();
    unlisten();
  }
}

/** Waits for a time in milliseconds, or until the signal aborts. Returns at once for 0. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (ms === 0 || signal?.aborted) return;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const cancel = clock.after(ms, end);
  const unlisten = signal && onAbort(signal, end);
  await ended;
  unlisten?.();
  cancel();
}
