import { expect, it } from "vitest";
import { isPruningDue } from "../../../src/persistence/retention/prune.ts";

const versions = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

it.each<[string, Parameters<typeof isPruningDue>[0], boolean]>([
  ["one that was never pruned, at the cap", { version: 20, pruned: undefined, exempt: [] }, false],
  ["one that was never pruned, above it", { version: 21, pruned: undefined, exempt: [] }, true],
  ["one of which everything stays", { version: 500, pruned: undefined, exempt: versions(1, 500) }, false],
  ["one of which all but the cap stays", { version: 520, pruned: undefined, exempt: versions(1, 500) }, false],
  ["the same and one more", { version: 521, pruned: undefined, exempt: versions(1, 500) }, true],
  ["as many as the cap, with what was kept", { version: 112, pruned: [100, 8], exempt: [] }, false],
  ["one more", { version: 113, pruned: [100, 8], exempt: [] }, true],
  ["what stayed before is not counted again", { version: 121, pruned: [100, 8], exempt: versions(1, 100) }, true],
  ["what stays of what came since is not counted", { version: 113, pruned: [100, 8], exempt: [110, 110] }, false],
  ["half as many as were kept", { version: 2_000, pruned: [1_000, 2_000], exempt: [] }, false],
  ["more than that", { version: 2_001, pruned: [1_000, 2_000], exempt: [] }, true],
])("pruning is due or not: %s", (_name, agent, due) => {
  expect(isPruningDue(agent, 20)).toBe(due);
});

it("pruning after runs costs each checkpoint the same, however many runs end with a checkpoint that is kept", () => {
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
