import { rm } from "node:fs/promises";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { expect, it } from "vitest";
import { waitingPayer } from "../../transfer/movedAgents.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryCopy, temporaryDirectory } from "../temporaryDirectory.ts";
import { cases } from "../../soak/cases.ts";

/** `npm test` kills before a few of the calls to the file system, a long run before many. */
const kills = cases(2, 25);

const start = killableProgram("fork/forkWorker.ts");

it("a fork interrupted by a kill is stored whole or not at all, and the next process continues or makes it", async () => {
  const original = await temporaryDirectory();
  await waitingPayer(new FilePersistenceStorageProvider({ directory: original, inlineThresholdBytes: 300 }), "a");
  const calm = await temporaryCopy(original);
  const wanted = { output: "ann, 800", hasAll: true, requests: 1 };
  const { said: undisturbed, calls } = await start(calm, 0);
  expect(undisturbed).toEqual(wanted);
  const count = Math.min(kills, calls);
  for (let kill = 1; kill <= count; kill++) {
    const directory = await temporaryCopy(original);
    // The fork is in the first half of them.
    const at = Math.round((calls * kill) / (2 * count));
    expect(await start(directory, at)).toMatchObject({ killed: true });
    const { said } = await start(directory, 0);
    expect({ at, said }).toEqual({ at, said: wanted });
    await rm(directory, { recursive: true });
  }
  for (const directory of [original, calm]) await rm(directory, { recursive: true });
});
