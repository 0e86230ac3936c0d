import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/errors/StorageError.ts";
import type { OwnedLog } from "../../../src/storage/RecordLog.ts";
import { FaultyFileSystem } from "./FaultyFileSystem.ts";
import { append, collect, nextOwner, summaryOf, testDirectory, testLog, textsOf } from "./fixture.ts";
import { HastyClock } from "./TestClock.ts";

/** What is known of the appends of a run: acknowledged ones must be there, the others may. */
interface Known {
  readonly acknowledged: string[];
  readonly attempted: string[];
  failure: unknown;
}

/** Two owners after one another, with a summary, a blob and a take-over of large segments. */
async function workload(fileSystem: FaultyFileSystem, directory: string, known: Known): Promise<void> {
  const log = testLog(directory, { fileSystem, clock: new HastyClock() });
  let owned: OwnedLog | undefined;
  try {
    for (const run of [1, 2]) {
      owned = await log.open("a", nextOwner());
      for (const n of [1, 2]) {
        const text = `${run}/${n}`;
        known.attempted.push(text);
        await append(owned, text, n === 1 ? { summary: summaryOf("a", `status-${run}`) } : {});
        known.acknowledged.push(text);
      }
      await log.blobs.put("a", owned.generation, new Uint8Array([run]));
      await owned.release();
    }
  } catch (error) {
    known.failure = error;
    if (known.attempted.length > known.acknowledged.length && owned !== undefined) await expect(append(owned, "refused")).rejects.toBe(error);
    await owned?.release();
  }
}

/** Once the cause is gone: what was acknowledged is there and the same process goes on. */
async function recover(fileSystem: FaultyFileSystem, directory: string, known: Known): Promise<void> {
  fileSystem.heal();
  const log = testLog(directory, { fileSystem, clock: new HastyClock() });
  const texts = textsOf(await collect(log.read("a")));
  expect(known.attempted.slice(0, texts.length)).toEqual(texts);
  expect(texts.length).toBeGreaterThanOrEqual(known.acknowledged.length);
  const owned = await log.open("a", nextOwner());
  await append(owned, "after");
  expect(textsOf(await collect(log.read("a")))).toEqual([...texts, "after"]);
  const listed = (await collect(log.list())).map(({ status }) => status);
  expect(listed).toEqual(texts.length === 0 ? [] : [texts.length > 2 ? "status-2" : "status-1"]);
  await owned.release();
}

const reasons: Readonly<Record<string, string>> = { EIO: "io", ENOSPC: "full", EMFILE: "too_many_files", EACCES: "permission" };

// The codes differ only in the reason that is reported, which the two soonest met show; a long run tries them all.
const codes = process.env["SOAK"] === "1" ? ["EIO", "ENOSPC", "EMFILE", "EACCES", "short"] : ["EMFILE", "ENOSPC", "short"];

describe("a file system that fails", () => {
  it.each(codes.flatMap((code) => [[code, false] as const, [code, true] as const]))(
    "with %s at any call (from then on: %s) loses nothing acknowledged, says so by a typed error, and goes on after",
    async (code, fromThenOn) => {
      for (let call = 1; ; call++) {
        const directory = await testDirectory();
        const fileSystem = new FaultyFileSystem();
        const known: Known = { acknowledged: [], attempted: [], failure: undefined };
        fileSystem.failAt(call, code, fromThenOn);
        await workload(fileSystem, directory, known);
        if (known.failure !== undefined) {
          expect(known.failure).toBeInstanceOf(StorageError);
          expect(known.failure).toMatchObject({ reason: reasons[code], code: "storage_failed" });
          expect((known.failure as StorageError).path.startsWith("/")).toBe(true);
          expect((known.failure as StorageError).cause).toBeInstanceOf(Error);
        }
        const done = fileSystem.calls.length < call;
        await recover(fileSystem, directory, known);
        if (done) return;
      }
    },
  );
});
