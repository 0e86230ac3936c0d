import { type Clock, systemClock } from "../../src/internal/Clock.ts";

/** The system clock, whose timers fire a hundred times sooner, for code under test that looks for a change periodically. */
export const soonerClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic(),
  after: (ms, callback, ...options) => systemClock.after(ms / 100, callback, ...options),
};
