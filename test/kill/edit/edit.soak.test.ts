import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { cases, soak } from "../../soak/cases.ts";

/** `npm test` kills before a few of the calls to the file system, a long run before many. */
const kills = cases(2, 30);

const start = killableProgram("edit/editWorker.ts");

it("a name and an edit interrupted by a kill are stored whole or not at all, and made once by the next process", async () => {
  const calm = await temporaryDirectory();
  const wanted = { left: ["first a ", "second a before", "finish a! ", "second b ann"], output: "b!" };
  const { said: undisturbed, calls } = await start(calm, 0);
  expect(undisturbed).toEqual(wanted);
  await rm(calm, { recursive: true });
  for (let kill = 1; kill <= Math.min(kills, calls); kill++) {
    const directory = await temporaryDirectory();
    const at = soak ? Math.ceil((calls * kill) / kills) : Math.round((calls * (kill + kills)) / (2 * kills + 1));
    expect(await start(directory, at)).toMatchObject({ killed: true });
    const { said } = await start(directory, 0);
    expect({ directory, at, said }).toEqual({ directory, at, said: wanted });
    await rm(directory, { recursive: true });
  }
});
