import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { type End, killableProgram } from "./killableProgram.ts";
import { every } from "../../soak/cases.ts";

/** Killed before each of so many calls: before which of them, the seed says. */
const stride = every(300, 4);
/** At once. */
const lanes = 2;

const start = killableProgram("everyCall/lifeWorker.ts");

/** What a life leaves: what it said at its end, and each effect once, in the order in which they first came. */
async function leftBy(directory: string, { said }: End) {
  const lines = (await readFile(join(directory, "ledger"), "utf8")).trim().split("\n");
  return {
    said,
    effects: [...new Set(lines)],
    lines: lines.length,
  };
}

async function undisturbed() {
  const directory = await temporaryDirectory();
  const end = await start(directory, 0);
  const left = await leftBy(directory, end);
  await rm(directory, { recursive: true });
  return { left, calls: end.calls };
}

/** A life that is killed once and begun again. @returns whether it was killed. */
async function isKilled(expected: object, killBefore: number): Promise<boolean> {
  const directory = await temporaryDirectory();
  const first = await start(directory, killBefore);
  const { lines: _lines, ...left } = await leftBy(directory, await start(directory, 0));
  // The directory is shown when this fails, and is kept.
  expect({ directory, ...left }).toEqual({ directory, ...expected });
  await rm(directory, { recursive: true });
  return first.killed;
}

async function eachOf(numbers: readonly number[], act: (number: number) => Promise<void>): Promise<void> {
  const left = [...numbers];
  const lane = async () => {
    for (let number = left.shift(); number !== undefined; number = left.shift()) await act(number);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

it("an agent reaches the same end after a kill before any call to the file system", async () => {
  const { left, calls } = await undisturbed();
  const { lines, ...expected } = left;
  expect(expected.effects).toHaveLength(lines);
  expect(expected.effects.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
    "book a",
    "book c",
    "undo c",
    "undo a",
    "book a",
    "book c",
  ]);
  const numbers = Array.from({ length: Math.floor(calls / stride) }, (_, at) => at * stride + 1 + (seed % stride));
  let kills = 0;
  await eachOf(numbers, async (number) => {
    if (await isKilled(expected, number)) kills++;
  });
  console.log(`Killed before ${kills} of ${calls} calls to the file system.`);
  expect(kills).toBe(numbers.length);
});
