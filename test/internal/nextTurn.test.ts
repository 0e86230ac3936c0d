import { expect, test, vi } from "vitest";
import { nextTurn } from "../../src/internal/nextTurn.ts";

test("nextTurn resolves even if a test has replaced the timers of the process", async () => {
  vi.useFakeTimers();
  try {
    await expect(nextTurn()).resolves.toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});
