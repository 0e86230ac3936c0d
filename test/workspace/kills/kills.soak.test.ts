import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { judgeTrace } from "./trace/judgeTrace.ts";
import { killRunning, liveUnderKills } from "./LifeUnderKills.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { cases } from "../../soak/cases.ts";

const killCount = cases(3, 120);
/** At once: more only wait for each other. */
const lanes = 2;

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../workspace/kills/worker.ts");
});
afterEach(killRunning);
afterAll(() => rm(home, { recursive: true, force: true }));

it("files have a version of the agent or a person, or the version that a reported decision chose, after any number of kills", async () => {
  const budget = { left: killCount };
  const kills = new Map<string, number>();
  const sums = { lives: 0, asPersonLeft: 0, asAtCheckpoint: 0, inWindow: 0 };
  const lane = async (number: number): Promise<void> => {
    const random = seededNumbers(seed + number);
    while (budget.left > 0) {
      const directory = await temporaryDirectory();
      const life = { program, directory, seed: Math.floor(random() * 2 ** 31), random, budget };
      const withPerson = sums.lives % 4 !== 3;
      sums.lives++;
      const trace = await liveUnderKills({ ...life, withPerson, rollbacks: cases(1, 3) });
      const { violations, ...counts } = judgeTrace(trace);
      // Seed and directory are shown when this fails, and the directory is kept.
      expect({ seed, directory, violations }).toEqual({ seed, directory, violations: [] });
      for (const line of trace) if (line.kind === "killed") kills.set(line.place, (kills.get(line.place) ?? 0) + 1);
      sums.asPersonLeft += counts.asPersonLeft;
      sums.asAtCheckpoint += counts.asAtCheckpoint;
      sums.inWindow += counts.inWindow;
      await rm(directory, { recursive: true });
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  console.log(`Kills by place: ${JSON.stringify(Object.fromEntries(kills))}. ${JSON.stringify(sums)}`);
  expect([...kills.values()].reduce((sum, count) => sum + count, 0)).toBe(killCount);
  if (killCount >= 120)
    for (const place of ["capture", "commit", "tool", "restore", "rollback"])
      expect(kills.get(place)).toBeGreaterThan(5);
});
