import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StorageError } from "../../../src/errors/storageErrors.ts";
import type { OwnedLog } from "../../../src/storage/RecordLog.ts";
import { FaultyFileSystem } from "./support/FaultyFileSystem.ts";
import {
  agentPath,
  append,
  collect,
  nextOwner,
  summaryOf,
  testDirectory,
  testLog,
  textsOf,
} from "./support/fixture.ts";
import { HastyClock } from "./support/TestClock.ts";
import { every, soak } from "../../soak/cases.ts";

/** What is known of the appends of a run: acknowledged ones must be there, the others may. */
interface Known {
  readonly acknowledged: string[];
  readonly attempted: string[];
  failure: unknown;
  /** What an append after a failed one rejects with. */
  nextFailure: unknown;
}

/** Nothing, or an error that says what a user can act on; a failed append is the end of the ownership. */
function isFailure({ failure, nextFailure }: Known, reason: string | undefined): boolean {
  if (failure === undefined) return true;
  const said = failure instanceof StorageError && failure.reason === reason && failure.path.startsWith("/");
  return said && failure.cause instanceof Error && (nextFailure === undefined || nextFailure === failure);
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
    if (known.attempted.length > known.acknowledged.length && owned !== undefined)
      known.nextFailure = await append(owned, "refused").catch((refused: unknown) => refused);
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

const reasons: Readonly<Record<string, string>> = {
  EIO: "io",
  ENOSPC: "full",
  EMFILE: "too_many_files",
  EACCES: "permission",
  EROFS: "permission",
};

// The codes differ only in the reason that is reported. Short writes leave the most behind; a long run tries all codes.
const codes = soak ? ["EIO", "ENOSPC", "EMFILE", "EACCES", "EROFS", "short"] : ["short"];

/** Of so many calls, one fails. */
const stride = every(8, 1);

describe("a file system that fails", () => {
  it.each(codes.flatMap((code) => [[code, false] as const, [code, true] as const]))(
    "with %s at any call (from then on: %s) loses no acknowledged append, throws a typed error and recovers",
    async (code, fromThenOn) => {
      for (let call = 1; ; call += stride) {
        const directory = await testDirectory();
        const fileSystem = new FaultyFileSystem();
        const known: Known = { acknowledged: [], attempted: [], failure: undefined, nextFailure: undefined };
        fileSystem.failAt(call, code, fromThenOn);
        await workload(fileSystem, directory, known);
        expect([known.failure, isFailure(known, reasons[code])]).toEqual([known.failure, true]);
        const done = fileSystem.calls.length < call;
        await recover(fileSystem, directory, known);
        if (done) return;
      }
    },
  );

  it("at any call of an import closes and removes its temporary file", async () => {
    const source = testLog(await testDirectory());
    await append(await source.open("a", nextOwner()), "one");
    const appends = await collect(source.encodedAppends("a"));
    for (let call = 1; ; call++) {
      const directory = await testDirectory();
      const fileSystem = new FaultyFileSystem();
      const log = testLog(directory, { fileSystem, clock: new HastyClock() });
      fileSystem.failAt(call, "EIO", false);
      const last = () => ({ id: "last", records: [], summary: summaryOf("b", "copied") });
      const owned = await log.receive("b", nextOwner(), { appends, generation: 1 }, last).catch(() => undefined);
      const failed = fileSystem.calls[call - 1];
      await owned?.release();
      expect([call, failed, fileSystem.open]).toEqual([call, failed, 0]);
      const remaining = (await readdir(join(agentPath(directory, "b"), "tmp")).catch(() => [])).length;
      expect([call, failed, remaining]).toEqual([call, failed, failed === "unlink" ? remaining : 0]);
      if (failed === undefined) return;
    }
  });

  it.each(["drop", "prune"] as const)(
    "during %s at any call leaves no open file, and the log complete or in the intended state",
    async (operation) => {
      for (let call = 1; ; call += every(4, 1)) {
        const directory = await testDirectory();
        const fileSystem = new FaultyFileSystem();
        const log = testLog(directory, { fileSystem, clock: new HastyClock() });
        const owned = await log.open("a", nextOwner());
        for (const text of ["one", "two", "three"]) await append(owned, text, { summary: summaryOf("a", text) });
        const [one, two] = await collect(log.read("a"));
        const gaps = [{ first: 2, last: 2, before: one?.checksum, after: two?.checksum }];
        if (operation === "prune") await owned.append({ id: "p", records: [{ kind: "pruned", gaps } as never] }, 3);
        const before = fileSystem.calls.length;
        fileSystem.failAt(before + call, "EIO", false);
        const outcome: unknown = await (operation === "drop" ? owned.drop() : owned.prune()).catch(
          (error: unknown) => error,
        );
        expect(outcome === undefined || outcome instanceof StorageError).toBe(true);
        const done = fileSystem.calls.length < before + call;
        await owned.release();
        expect([call, fileSystem.open]).toEqual([call, 0]);
        fileSystem.heal();
        const positions = (await collect(log.read("a"))).map(({ position }) => position);
        const allowed = { drop: [[], [1, 2, 3]], prune: [[1, 3, 4]] }[operation];
        expect(allowed).toContainEqual(positions);
        expect((await collect(log.list())).map(({ status }) => status)).toEqual(
          positions.length === 0 ? [] : ["three"],
        );
        const next = await log.open("a", nextOwner());
        expect(next.position).toBe(operation === "drop" ? 3 : 4);
        await append(next, "on");
        expect((await collect(log.read("a"))).map(({ position }) => position)).toEqual([...positions, next.position]);
        if (done) return;
      }
    },
  );
});
