import { AgentBusyError } from "../../errors/storage/AgentBusyError.ts";
import type { Clock } from "../../internal/Clock.ts";
import { pause } from "../../internal/pause.ts";

const firstPauseMs = 20;
const longestPauseMs = 500;

/** How long to wait for an owner. */
export interface BusyWait {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Between two tries. Default 500 ms; the first pauses are shorter. */
  readonly pauseMs?: number;
  /** Aborting it ends the wait with its reason. Default: nothing does. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens something, again and again while it has another owner.
 *
 * @param isDone asked while it is busy: true ends the wait.
 * @returns `undefined` if that ended it.
 * @throws AgentBusyError when it is busy for longer.
 */
export async function whileBusy<Opened>(
  open: () => Promise<Opened>,
  { clock, timeoutMs, pauseMs: longest = longestPauseMs, signal }: BusyWait,
  isDone: () => Promise<boolean>,
): Promise<Opened | undefined> {
  const until = clock.monotonic() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longest)) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      if (await isDone()) return undefined;
      const left = until - clock.monotonic();
      if (left <= 0) throw error;
      await pause(clock, Math.min(pauseMs, left), signal);
      signal?.throwIfAborted();
    }
  }
}
