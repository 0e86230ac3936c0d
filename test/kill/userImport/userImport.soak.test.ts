import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readPeople, type Person } from "../../../examples/user-import/people.ts";
import { bundleWorker } from "../bundleWorker.ts";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { killRunningWorkers } from "../WorkerProcess.ts";
import { ImportLife, type KillPlace } from "./ImportLife.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { cases, soak } from "../../soak/cases.ts";

const killCount = cases(8, 50);
/** At once: more only wait for each other. */
const lanes = soak ? 2 : 1;

let home: string;
let program: string;
let csvFile: string;
let people: readonly Person[];

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "userImport/importWorker.ts");
  csvFile = join(home, "people.csv");
  // Two are alike in everything: only the ids of their calls tell them apart.
  const names = ["Alex", "Daniel", "Maria", "Zoë", "张伟", "Alex", "Jürgen", "Siobhán"];
  await writeFile(csvFile, `name,email\n${names.map((name) => `${name},${name}@example.org`).join("\n")}`);
  people = readPeople(csvFile);
});
afterEach(killRunningWorkers);
afterAll(() => rm(home, { recursive: true, force: true }));

describe("kills inside tools and rollbacks", () => {
  it(`leave a database that matches the journal, without repeated sign-ups or removals, after each of ${killCount} kills`, async () => {
    const budget = { left: killCount };
    const kills: KillPlace[] = [];
    const lane = async (number: number): Promise<void> => {
      const random = seededNumbers(seed + number);
      while (budget.left > 0) {
        const directory = await temporaryDirectory();
        const report = await new ImportLife({ program, directory, csvFile, people, random, budget }).live();
        kills.push(...report.kills);
        // Seed and directory are shown when this fails, and the directory is kept.
        expect({ seed, directory, violations: report.violations }).toEqual({ seed, directory, violations: [] });
        await rm(directory, { recursive: true });
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
    const count = (place: KillPlace) => kills.filter((one) => one === place).length;
    expect(count("signUp") + count("removal")).toBeGreaterThanOrEqual(killCount);
    // A few kills may all fall in one of them.
    if (killCount < 50) return;
    expect(count("signUp")).toBeGreaterThan(killCount / 10);
    expect(count("removal")).toBeGreaterThan(killCount / 10);
  });
});
