import type { Clock } from "agent-persistence";
import type { SimulatedClock } from "agent-persistence/testing";

/** A clock that shows a simulated time, and whose timers take real time: a wait for another owner must end. */
export function settableClock(shown: SimulatedClock): Clock {
  return {
    now: () => shown.now(),
    monotonic: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
}
