import { execFile } from "node:child_process";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitingPayer } from "../../transfer/movedAgents.ts";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

const soak = process.env["SOAK"] !== undefined;
/** `npm test` kills before a few of the calls to the file system, a long run before many. */
const kills = soak ? 40 : 3;

let home: string;
let program: string;
let preload: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  const preloads = await temporaryDirectory();
  [program, preload] = await Promise.all([
    bundleWorker(home, "fork/forkWorker.ts"),
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

it("a fork that a kill cut short is whole or not there, and the next process goes on with it or makes it", async () => {
  const original = await temporaryDirectory();
  await waitingPayer(new FilePersistenceStorageProvider({ directory: original, inlineThresholdBytes: 300 }), "a");
  const copy = async () => {
    const directory = await temporaryDirectory();
    await cp(original, directory, { recursive: true });
    return directory;
  };
  const calm = await copy();
  const undisturbed = await start(calm, 0);
  const wanted = { output: "ann, 800", hasAll: true, requests: 1 };
  expect(undisturbed.said === "" ? undisturbed.errors : JSON.parse(undisturbed.said)).toEqual(wanted);
  const calls = Number(/^calls (\d+)$/m.exec(undisturbed.errors)?.[1]);
  const count = Math.min(kills, calls);
  for (let kill = 1; kill <= count; kill++) {
    const directory = await copy();
    // The fork is in the first half of them.
    const at = Math.round((calls * kill) / (2 * count));
    expect(await start(directory, at)).toMatchObject({ killed: true });
    const { said, errors } = await start(directory, 0);
    expect({ at, said: said === "" ? errors : (JSON.parse(said) as unknown) }).toEqual({ at, said: wanted });
    await rm(directory, { recursive: true });
  }
  for (const directory of [original, calm]) await rm(directory, { recursive: true });
});
