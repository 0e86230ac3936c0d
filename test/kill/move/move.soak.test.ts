import { rm } from "node:fs/promises";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { expect, it } from "vitest";
import { waitingPayer } from "../../transfer/movedAgents.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryCopy, temporaryDirectory } from "../temporaryDirectory.ts";
import { statusIn } from "./statusIn.ts";
import { cases } from "../../soak/cases.ts";

/** `npm test` kills before a few of the calls to the file system, a long run before many. */
const kills = cases(2, 30);

const start = killableProgram("move/moveWorker.ts");

it("a move interrupted by a kill lets at most one agent run, and the next process finishes it", async () => {
  const original = await temporaryDirectory();
  const inFolder = (directory: string, name: string) =>
    new FilePersistenceStorageProvider({ directory: join(directory, name), inlineThresholdBytes: 300 });
  await waitingPayer(inFolder(original, "source"));
  const calm = await temporaryCopy(original);
  const { said: undisturbed, calls } = await start(calm, 0);
  const wanted = { output: "ann, 800", isAway: true };
  expect(undisturbed).toEqual(wanted);
  const count = Math.min(kills, calls);
  for (let kill = 1; kill <= count; kill++) {
    const directory = await temporaryCopy(original);
    const at = Math.round((calls * kill) / (count + 1));
    expect(await start(directory, at)).toMatchObject({ killed: true });
    const statuses = [await statusIn(inFolder(directory, "source")), await statusIn(inFolder(directory, "target"))];
    const canRun = statuses.filter((status) => !["moving", "moved", undefined].includes(status));
    expect({ at, statuses, canRun: canRun.length < 2 }).toEqual({ at, statuses, canRun: true });
    const { said } = await start(directory, 0);
    expect({ at, said }).toEqual({ at, said: wanted });
    await rm(directory, { recursive: true });
  }
  for (const directory of [original, calm]) await rm(directory, { recursive: true });
});
