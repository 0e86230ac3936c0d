import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { cases } from "../../soak/cases.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

const lives = cases(2, 200);
const start = killableProgram("events/eventLife.ts");

async function lived(killBefore: number) {
  const directory = await temporaryDirectory();
  const first = await start(directory, killBefore);
  const { said } = first.killed ? await start(directory, 0) : first;
  await rm(directory, { recursive: true });
  return { ...first, said };
}

it("events are received once and in order after a kill before any call to the file system", async () => {
  const { said, calls } = await lived(0);
  expect(said).toBe("one two three none");
  const stride = Math.max(1, Math.floor(calls / lives));
  for (let number = 1 + (seed % stride); number <= calls; number += stride) {
    const { said: end, killed } = await lived(number);
    expect({ number, end, killed }).toEqual({ number, end: said, killed: true });
  }
});
