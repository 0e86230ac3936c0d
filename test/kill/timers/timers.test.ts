import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { cases } from "../../soak/cases.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

const lives = cases(3, 200);
const start = killableProgram("timers/timerLife.ts");

async function lived(killBefore: number) {
  const directory = await temporaryDirectory();
  const first = await start(directory, killBefore);
  const { said } = first.killed ? await start(directory, 0) : first;
  await rm(directory, { recursive: true });
  return { ...first, said };
}

it("a sleep and a stop end once after a kill before any call to the file system", async () => {
  const { said, calls } = await lived(0);
  expect(said).toEqual({ output: "in done", timers: 1, booked: ["hotel", "taxi"] });
  const stride = Math.max(1, Math.floor(calls / lives));
  for (let number = 1 + (seed % stride); number <= calls; number += stride) {
    const { said: end, killed } = await lived(number);
    expect({ number, end, killed }).toEqual({ number, end: said, killed: true });
  }
});
