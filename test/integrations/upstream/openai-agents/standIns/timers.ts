import { vi } from "vitest";

const { setImmediate: nextTurn } = globalThis;

/** A durable run needs some turns of the event loop before its first request, so timers advance after them. */
async function afterTurns(advance: () => Promise<typeof vi>): Promise<typeof vi> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => nextTurn(resolve));
  return advance();
}

const advanceTimersByTimeAsync = vi.advanceTimersByTimeAsync.bind(vi);
vi.advanceTimersByTimeAsync = (ms) => afterTurns(() => advanceTimersByTimeAsync(ms));
