import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryCopy, temporaryDirectory } from "../temporaryDirectory.ts";
import { migrationsIn, stoppedAgent } from "./stoppedAgent.ts";
import { cases } from "../../soak/cases.ts";

/** `npm test` kills before a few of the calls to the file system, a long run before many of the first half. */
const kills = cases(2, 40);
/** All lines in one append. */
const wanted = { output: "iinit", migrations: [["both", "finish", "work/second"]] };

const start = killableProgram("migration/migrationWorker.ts");

it("a migration interrupted by a kill is stored whole or not at all, and the next process ends the run", async () => {
  const original = await temporaryDirectory();
  await stoppedAgent(original);
  const calm = await temporaryCopy(original);
  const { said: undisturbed, calls } = await start(calm, 0);
  expect(undisturbed).toEqual(wanted);
  // The migration is in the first half of them.
  const last = Math.ceil(calls / 2);
  const count = Math.min(kills, last);
  const seen = new Set<number>();
  for (let kill = 1; kill <= count; kill++) {
    const directory = await temporaryCopy(original);
    const at = Math.ceil((last * kill) / count);
    expect(await start(directory, at)).toMatchObject({ killed: true });
    const left = await migrationsIn(directory);
    expect([[], wanted.migrations]).toContainEqual(left);
    seen.add(left.length);
    const { said } = await start(directory, 0);
    expect({ at, said }).toEqual({ at, said: wanted });
    await rm(directory, { recursive: true });
  }
  expect(seen).toEqual(new Set([0, 1]));
  for (const directory of [original, calm]) await rm(directory, { recursive: true });
});
