import { compareRuns, type RunTrace, type TraceVisit } from "agent-persistence/replay";
import { expect, it } from "vitest";

function traceOf(length: number, tag: string, sameUpTo = 0): RunTrace {
  const visits = Array.from({ length }, (_, index): TraceVisit => {
    const output = `${index < sameUpTo ? "same" : tag} ${index}`;
    const parts = { requests: [], calls: [], waits: [], messages: { added: [], removed: [] } };
    return { node: index % 2 === 0 ? "ask" : "act", state: "ended", output, ...parts };
  });
  return { version: 1, agentId: "a", runId: tag, status: "completed", input: "go", visits };
}

/** The CPU time of a comparison of two runs without an equal step. */
function timeOf(length: number): number {
  const [before, after] = [traceOf(length, "x"), traceOf(length, "y")];
  const start = process.cpuUsage();
  compareRuns(before, after);
  return process.cpuUsage(start).user;
}

it("compares long runs without an equal step in proportion to their length", () => {
  const times = [0, 1].map(() => [timeOf(1_000), timeOf(4_000)] as const);
  const [short, long] = [0, 1].map((at) => Math.min(...times.map((pair) => pair[at] ?? 0)));
  expect(long).toBeLessThan(7 * (short ?? 0));
});

it("pairs the steps of different long runs by their nodes, after their equal start", () => {
  const { steps, firstDivergence } = compareRuns(traceOf(1_500, "x", 10), traceOf(1_498, "y", 10));
  expect(firstDivergence).toBe(10);
  expect(steps).toHaveLength(1_500);
  const count = (change: string) => steps.filter((step) => step.change === change).length;
  expect([count("same"), count("changed"), count("removed")]).toEqual([10, 1_488, 2]);
});

it("finds no pair between long runs of different nodes", () => {
  const renamed = traceOf(1_200, "y");
  const visits = renamed.visits.map((visit, index) => ({ ...visit, node: `n${index}` }));
  const { steps } = compareRuns(traceOf(1_200, "x"), { ...renamed, visits });
  expect(steps.map(({ change }) => change).toSorted()).toEqual([
    ...Array(1_200).fill("added"),
    ...Array(1_200).fill("removed"),
  ]);
});
