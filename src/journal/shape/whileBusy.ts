import { AgentBusyError } from "../../errors/storageErrors.ts";
import { pause } from "../../internal/abortable.ts";
import type { Clock } from "../../internal/Clock.ts";

const firstPauseMs = 20;
const longestPauseMs = 500;

export interface BusyWait {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The pause between two attempts, in milliseconds. Defaults to 500. The first pauses are shorter. */
  readonly pauseMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a log, and tries again while another process owns it. Returns `undefined` if `isDone` resolves to a truthy
 * value.
 * @throws AgentBusyError after the time limit
 */
export async function whileBusy<Opened>(
  open: () => Promise<Opened>,
  { clock, timeoutMs, pauseMs: longest = longestPauseMs, signal }: BusyWait,
  isDone: () => Promise<unknown> = async () => false,
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
