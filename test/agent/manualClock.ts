import type { Clock } from "../../src/internal/Clock.ts";

/** A clock whose timers go off when the test says so. */
export function manualClock(): Clock & { readonly timers: readonly number[]; fire(): void } {
  const pending = new Map<() => void, number>();
  return {
    now: () => 0,
    monotonic: () => 0,
    after(ms, callback) {
      pending.set(callback, ms);
      return () => pending.delete(callback);
    },
    get timers() {
      return [...pending.values()];
    },
    fire() {
      const due = [...pending.keys()];
      pending.clear();
      for (const callback of due) callback();
    },
  };
}
