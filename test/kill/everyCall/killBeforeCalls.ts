import { rm } from "node:fs/promises";
import { expect } from "vitest";
import { testSeed as seed } from "../../testSeed.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import type { killableProgram } from "./killableProgram.ts";

/**
 * Kills a program before about `lives` of its calls to the file system, and of the other calls that it counts. Expects the
 * next process to say the same.
 *
 * @param argsOf the arguments for the processes of one life.
 */
export async function killBeforeCalls(
  start: ReturnType<typeof killableProgram>,
  lives: number,
  said: unknown,
  argsOf: () => Promise<readonly string[]> = async () => [],
): Promise<void> {
  const lived = async (killBefore: number) => {
    const directory = await temporaryDirectory();
    const args = await argsOf();
    const first = await start(directory, killBefore, ...args);
    const last = first.killed ? await start(directory, 0, ...args) : first;
    await rm(directory, { recursive: true });
    return { ...first, said: last.said };
  };
  const undisturbed = await lived(0);
  expect(undisturbed.said).toEqual(said);
  const stride = Math.max(1, Math.floor(undisturbed.calls / lives));
  for (let number = 1 + (seed % stride); number <= undisturbed.calls; number += stride) {
    const { said: end, killed } = await lived(number);
    expect({ number, end, killed }).toEqual({ number, end: said, killed: true });
  }
}
