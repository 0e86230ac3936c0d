import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "./bundleWorker.ts";
import type { Kill } from "./judge/killsOf.ts";
import { seededNumbers } from "../../src/testing/powerLoss/RecordedTree.ts";
import { readEndState } from "./judge/readEndState.ts";
import { RunUnderKills } from "./RunUnderKills.ts";
import { temporaryDirectory } from "./temporaryDirectory.ts";
import { Trace } from "./judge/Trace.ts";
import { undisturbedRun } from "./undisturbedRun.ts";
import { killRunningWorkers, WorkerProcess } from "./WorkerProcess.ts";
import type { WorkerOptions } from "./worker/WorkerOptions.ts";
import { testSeed as seed } from "../testSeed.ts";
import { cases, soak } from "../soak/cases.ts";

type Ids = WorkerOptions["toolCallIds"];

const killCount = cases(1, 50);
const nodes = 30;
/** At once: more only wait for each other. */
const lanes = soak ? 2 : 1;

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home);
});
afterEach(killRunningWorkers);
afterAll(() => rm(home, { recursive: true, force: true }));

describe("kills at random moments", () => {
  it.each<Ids>(["repeating", "unique"])(
    `leave a run that ends undisturbed after kills, with no effect repeated (%s tool-call ids)`,
    async (toolCallIds) => {
      const { state, tookMs, visits } = await undisturbedRun(program, toolCallIds);
      expect(visits).toBe(nodes);
      const budget = { left: killCount };
      const kills: Kill[] = [];
      const lane = async (number: number): Promise<void> => {
        const random = seededNumbers(seed + number);
        while (budget.left > 0) {
          const directory = await temporaryDirectory();
          const options = { program, directory, toolCallIds, random, patienceMs: tookMs * 0.4, budget };
          const report = await new RunUnderKills(options).finish();
          kills.push(...report.kills);
          // Seed and directory are shown when this fails, and the directory is kept.
          expect({
            seed,
            directory,
            violations: report.violations,
            state: await readEndState(directory, toolCallIds),
            again: await startAgain(directory, toolCallIds),
          }).toEqual({ seed, directory, violations: [], state, again: { output: "5 rounds", did: ["process"] } });
          await rm(directory, { recursive: true });
        }
      };
      await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
      expect(kills).toHaveLength(killCount);
      // A few kills may all fall in one part.
      if (killCount < 50) return;
      expect(kills.filter(({ insideCalls }) => insideCalls > 0).length).toBeGreaterThan(killCount / 10);
      const fifths = new Set(kills.map(({ iteration }) => Math.floor((5 * Math.max(0, iteration)) / nodes)));
      expect(fifths.size).toBe(5);
    },
  );
});

/** Asks for the run that is done: what it gives, and what it does. */
async function startAgain(directory: string, toolCallIds: Ids) {
  const trace = new Trace(directory);
  const before = trace.read().length;
  const worker = new WorkerProcess(program, { directory, toolCallIds });
  const completed = await worker.hear("completed");
  await worker.ended();
  const added = trace.read().slice(before);
  return { output: completed?.output, did: added.map(({ kind }) => kind) };
}
