import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

const soak = process.env["SOAK"] !== undefined;
/** `npm test` kills before a few of the calls to the file system, a long run before many. */
const kills = soak ? 60 : 3;

let home: string;
let program: string;
let preload: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  const preloads = await temporaryDirectory();
  [program, preload] = await Promise.all([
    bundleWorker(home, "edit/editWorker.ts"),
    bundleWorker(preloads, "everyCall/killBeforeCall.ts"),
  ]);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  await rm(join(preload, ".."), { recursive: true, force: true });
});

interface End {
  readonly killed: boolean;
  readonly said: string;
  readonly errors: string;
}

function start(directory: string, killBefore: number): Promise<End> {
  const env = { ...process.env, KILL_BEFORE: String(killBefore) };
  return new Promise((resolve) =>
    execFile(process.execPath, ["--import", preload, program, directory], { env }, (ended, said, errors) =>
      resolve({ killed: ended?.signal === "SIGKILL", said, errors }),
    ),
  );
}

it("a name and an edit that a kill cut short are there or not, and the next process makes them once", async () => {
  const calm = await temporaryDirectory();
  const undisturbed = await start(calm, 0);
  const calls = Number(/^calls (\d+)$/m.exec(undisturbed.errors)?.[1]);
  const { left, output } = JSON.parse(undisturbed.said) as {
    readonly left: readonly string[];
    readonly output: string;
  };
  expect([left, output]).toEqual([["first a ", "second a before", "finish a! ", "second b ann"], "b!"]);
  await rm(calm, { recursive: true });
  for (let kill = 1; kill <= Math.min(kills, calls); kill++) {
    const directory = await temporaryDirectory();
    const at = soak ? Math.ceil((calls * kill) / kills) : Math.round((calls * (kill + kills)) / (2 * kills + 1));
    expect(await start(directory, at)).toMatchObject({ killed: true });
    const { said, errors } = await start(directory, 0);
    expect({ directory, at, said: said === "" ? errors : (JSON.parse(said) as unknown) }).toEqual({
      directory,
      at,
      said: { left, output },
    });
    await rm(directory, { recursive: true });
  }
});
