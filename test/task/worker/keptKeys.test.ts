import { expect, it } from "vitest";
import { addNewest } from "../../../src/internal/deleteOldest.ts";
import { SimulatedClock } from "../../../src/testing.ts";
import type { ClaimableTask } from "../../../src/task/queue/claimableTasks.ts";
import { TaskBackoff } from "../../../src/task/worker/TaskBackoff.ts";

it("reports each key once, and forgets the oldest of very many", () => {
  const reported = new Set<string>();
  const add = (key: string) => addNewest(reported, key, 100_000);
  expect([add("first"), add("first")]).toEqual([true, false]);
  for (let number = 0; number < 99_999; number++) add(`${number}`);
  expect(add("first")).toBe(false);
  for (let number = 0; number < 100_000; number++) add(`${number}`);
  expect(add("first")).toBe(true);
});

it("forgets very many overdue tasks of a worker, and keeps tasks that still wait for their retry", () => {
  const clock = new SimulatedClock();
  const left = new TaskBackoff(clock, 1_000);
  const seen = { status: "queued", updatedAt: "2026-01-01" };
  const taskOf = (taskId: string) => ({ taskId, ...seen }) as unknown as ClaimableTask;
  left.add("overdue", undefined, [seen]);
  left.add("damaged", new TypeError("damaged"), [seen]);
  clock.advance(1_000);
  for (let number = 0; number < 10_000; number++) left.add(`${number}`, undefined, [seen]);
  expect(left.has(taskOf("9"))).toBe(true);
  expect(left.has(taskOf("damaged"))).toBe(true);
  // A second try would wait for 2,000 ms.
  left.add("overdue", undefined, [seen]);
  clock.advance(1_500);
  expect(left.has(taskOf("overdue"))).toBe(false);
});
