import { expect, it } from "vitest";
import { isPruningDue } from "../../../src/persistence/retention/pruneAfterRun.ts";

const versions = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

it.each<[string, Parameters<typeof isPruningDue>[0], boolean]>([
  ["never pruned, at the cap", { version: 20, pruned: undefined, exempt: [] }, false],
  ["never pruned, above the cap", { version: 21, pruned: undefined, exempt: [] }, true],
  ["all checkpoints exempt", { version: 500, pruned: undefined, exempt: versions(1, 500) }, false],
  ["all but the cap exempt", { version: 520, pruned: undefined, exempt: versions(1, 500) }, false],
  ["all but the cap and one exempt", { version: 521, pruned: undefined, exempt: versions(1, 500) }, true],
  ["kept checkpoints and new ones, at the limit", { version: 112, pruned: [100, 8], exempt: [] }, false],
  ["kept checkpoints and new ones, above the limit", { version: 113, pruned: [100, 8], exempt: [] }, true],
  [
    "earlier exempt checkpoints are not counted again",
    { version: 121, pruned: [100, 8], exempt: versions(1, 100) },
    true,
  ],
  ["new exempt checkpoints are not counted", { version: 113, pruned: [100, 8], exempt: [110, 110] }, false],
  ["half as many new as kept", { version: 2_000, pruned: [1_000, 2_000], exempt: [] }, false],
  ["more than half as many new as kept", { version: 2_001, pruned: [1_000, 2_000], exempt: [] }, true],
])("the decision whether pruning is due: %s", (_name, agent, due) => {
  expect(isPruningDue(agent, 20)).toBe(due);
});

it("pruning after runs costs the same per checkpoint, however many runs end with a kept checkpoint", () => {
  let [pruned, kept, work]: [readonly [number, number] | undefined, number, number] = [undefined, 0, 0];
  const [runs, stepsOfRun] = [5_000, 3];
  const ends: number[] = [];
  for (let version = stepsOfRun; version <= runs * stepsOfRun; version += stepsOfRun) {
    ends.push(version);
    if (!isPruningDue({ version, pruned, exempt: ends }, 20)) continue;
    work += kept + version - (pruned?.[0] ?? 0);
    kept = ends.length + 20;
    pruned = [version, kept];
  }
  expect(work / (runs * stepsOfRun)).toBeLessThan(3);
});
