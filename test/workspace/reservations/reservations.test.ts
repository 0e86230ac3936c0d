import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SimulatedClock } from "agent-persistence/testing";
import {
  FileReservedError,
  PathNotAllowedError,
  ReservationLostError,
  Reservations,
} from "agent-persistence/workspace";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { Disk } from "../../../src/nodejs/Disk.ts";
import type { FileSystem } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { nodeProcessIdentity } from "../../../src/nodejs/nodeProcessIdentity.ts";
import { LockFolder } from "../../../src/workspace/reservations/LockFolder.ts";
import { LockExpiry } from "../../../src/workspace/reservations/LockState.ts";
import { PathLock } from "../../../src/workspace/reservations/PathLock.ts";
import { HeldFiles } from "../../../src/workspace/reservations/Reservations.ts";
import { WatchedClock } from "../../internal/WatchedClock.ts";

const minute = 60_000;
let directory = "";
let clock = new WatchedClock();
let ours = new Reservations({ directory, clock });
let theirs = ours;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "reservations-"));
  clock = new WatchedClock();
  ours = new Reservations({ directory, clock });
  theirs = new Reservations({ directory, clock });
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The lock file of a path with a generation. */
function lockFile(path: string, generation: number): string {
  const hash = nodeSha256.hex(path);
  return join(directory, "locks", hash.slice(0, 3), `${hash}.${generation}.lock`);
}

const write = (path: string) => ({ path, operation: "write" }) as const;
const read = (path: string) => ({ path, operation: "read" }) as const;

/** Makes what is kept of a file unreadable. */
function damage(path: string): void {
  mkdirSync(lockFile(path, 99));
}

const renewalMs = (5 * minute) / 3;
const longestRetryMs = 1_000;

/** Until a request has found a file reserved, and waits to look again. */
const untilWaiting = () => clock.timer(longestRetryMs);

/** Lets time pass while a file is kept: after each renewal, until the next is due. */
async function passTime(ms: number): Promise<void> {
  for (const end = clock.monotonic() + ms; clock.monotonic() < end;) {
    expect(await clock.timer()).toBe(renewalMs);
    clock.advance(renewalMs);
  }
  await clock.timer();
}

/** Lets time pass, from one look at a file to the next, until a request has ended. */
const inTime = <Result>(request: Promise<Result>) => clock.runUntil(request, longestRetryMs);

it("reservations in a relative directory are released after a change of the working directory", async () => {
  const before = process.cwd();
  try {
    process.chdir(directory);
    const relative = new Reservations({ directory: "relative", clock });
    const held = await relative.acquire([write("a")], { owner: "a" });
    process.chdir(before);
    await held.release();
    expect(await new Reservations({ directory: join(directory, "relative"), clock }).holders("a")).toEqual([]);
  } finally {
    process.chdir(before);
  }
});

it("reservations create the parents of their directory", async () => {
  const nested = new Reservations({ directory: join(directory, "a/b/c"), clock });
  await using held = await nested.acquire([write("a")], { owner: "a" });
  expect(held.held).toBe(true);
});

it("readers of other tools without ids expire", async () => {
  const entry = (owner: string, ms: number) => ({
    owner,
    operation: "read",
    acquired_at: new Date(0).toISOString(),
    expires_at: new Date(ms).toISOString(),
  });
  mkdirSync(join(lockFile("a", 1), ".."), { recursive: true });
  writeFileSync(
    lockFile("a", 1),
    JSON.stringify({ path: "a", ...entry("x", minute), also_held_by: [entry("y", 2 * minute)] }),
  );
  expect(await ours.holders("a")).toHaveLength(2);
  clock.advance(2 * minute);
  expect(await ours.holders("a")).toEqual([]);
});

it("an entry of another tool that was removed expires a whole lifetime after it returns", () => {
  const expiry = new LockExpiry(clock, nodeProcessIdentity());
  const foreign = { id: "", owner: "x", operation: "write", since: "", expiresAt: "", ttlMs: minute } as const;
  const held = { path: "a", holders: [foreign], waiting: [] };
  expect(expiry.current(held).holders).toHaveLength(1);
  expect(expiry.current({ ...held, holders: [] }).holders).toEqual([]);
  clock.advance(minute);
  expect(expiry.current(held).holders).toHaveLength(1);
  clock.advance(minute);
  expect(expiry.current(held).holders).toEqual([]);
});

describe("reservations", () => {
  it("a file is reserved for many readers or for one writer", async () => {
    const reader = await ours.acquire([read("a.txt")], { owner: "Ann" });
    const other = await theirs.acquire([read("./a.txt")], { owner: "Ben" });
    await expect(theirs.acquire([write("a.txt")], { owner: "Cem" })).rejects.toThrow(FileReservedError);
    await reader.release();
    await other.release();
    const writer = await theirs.acquire([write("a.txt")], { owner: "Cem" });
    const refused = await ours.acquire([read("a.txt")], { owner: "Ann" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "file_reserved",
      path: "a.txt",
      operation: "read",
      holders: [{ owner: "Cem", operation: "write", expiresAt: "2026-01-01T00:05:00.000Z" }],
    });
    expect(await ours.holders("a.txt")).toEqual((refused as FileReservedError).holders);
    await writer.release();
    expect(await ours.holders("a.txt")).toEqual([]);
  });

  it("a lock file states the holder, start and expiry of a reservation", async () => {
    await ours.acquire([write("src/a.txt")], { owner: "Ann" });
    expect(JSON.parse(readFileSync(lockFile("src/a.txt", 1), "utf8"))).toMatchObject({
      path: "src/a.txt",
      owner: "Ann",
      operation: "write",
      acquired_at: "2026-01-01T00:00:00.000Z",
      expires_at: "2026-01-01T00:05:00.000Z",
    });
  });

  it("a reservation expires after five minutes, regardless of the wall clock", async () => {
    const held = await ours.acquire([write("a.txt")], { owner: "Ann" });
    clock.jump(24 * 60 * minute);
    clock.advance(5 * minute - 1);
    await expect(theirs.acquire([write("a.txt")], { owner: "Ben" })).rejects.toThrow(FileReservedError);
    expect(held.held).toBe(true);
    clock.advance(1);
    expect(held.held).toBe(false);
    const later = new Reservations({ directory, clock });
    await later.acquire([write("a.txt")], { owner: "Ben" });
    await expect(held.renew()).rejects.toThrow(ReservationLostError);
    await held.release();
    expect((await ours.holders("a.txt")).map(({ owner }) => owner)).toEqual(["Ben"]);
  });

  it("a renewed reservation lasts for another full duration", async () => {
    const renewed = await ours.acquire([write("a.txt")], { owner: "Ann" });
    clock.advance(4 * minute);
    await renewed.renew();
    clock.advance(4 * minute);
    await expect(theirs.acquire([write("a.txt")], { owner: "Ben" })).rejects.toThrow(FileReservedError);
    expect(renewed.held).toBe(true);
  });

  it("a reservation with keepAlive lasts until its process ends", async () => {
    const kept = await ours.acquire([write("b.txt")], { owner: "Ann", keepAlive: true });
    await passTime(12 * minute);
    await expect(theirs.acquire([write("b.txt")], { owner: "Ben" })).rejects.toThrow(FileReservedError);
    expect(kept.held).toBe(true);
    await kept.release();
    await theirs.acquire([write("b.txt")], { owner: "Ben" });
  });

  it("a reservation gets all files or none, each once, in one order for all callers", async () => {
    const held = await ours.acquire([read("b"), write("a"), write("b")], { owner: "Ann" });
    expect(held.files).toEqual([write("a"), write("b")]);
    await held.release();
    const blocking = await theirs.acquire([read("b")], { owner: "Ben" });
    await expect(ours.acquire([write("c"), write("b"), write("a")], { owner: "Ann" })).rejects.toMatchObject({
      path: "b",
    });
    await theirs.acquire([write("a"), write("c")], { owner: "Ben" });
    await blocking.release();
  });

  it("two calls that reserve the same files do not deadlock", async () => {
    const both = [
      ours.acquire([write("a"), write("b")], { owner: "Ann", timeoutMs: minute }),
      theirs.acquire([write("b"), write("a")], { owner: "Ben", timeoutMs: minute }),
    ].map(async (acquiring) => (await acquiring).release());
    await inTime(Promise.all(both));
    expect(await ours.holders("a")).toEqual([]);
  });

  it("a reservation waits until the file is free, its timeout expires, or it is aborted", async () => {
    const held = await ours.acquire([write("a")], { owner: "Ann" });
    await expect(inTime(theirs.acquire([write("a")], { owner: "Ben", timeoutMs: 50 }))).rejects.toThrow(
      FileReservedError,
    );
    const aborted = theirs.acquire([write("a")], {
      owner: "Ben",
      timeoutMs: minute,
      signal: AbortSignal.abort("enough"),
    });
    await expect(aborted).rejects.toBe("enough");
    const stop = new AbortController();
    const stopped = theirs.acquire([write("a")], { owner: "Ben", timeoutMs: minute, signal: stop.signal });
    await untilWaiting();
    stop.abort(new Error("enough"));
    await expect(stopped).rejects.toThrow("enough");
    const waiting = inTime(theirs.acquire([write("a")], { owner: "Ben", timeoutMs: Infinity }));
    await held.release();
    expect((await waiting).held).toBe(true);
  });

  it("reservations are served in order of arrival, so readers do not overtake a waiting writer", async () => {
    const held = await ours.acquire([read("a")], { owner: "Ann" });
    const order: string[] = [];
    const wait = async (owner: string, file: ReturnType<typeof read | typeof write>) => {
      const later = await theirs.acquire([file], { owner, timeoutMs: minute });
      order.push(owner);
      await later.release();
    };
    const writer = wait("writer", write("a"));
    await untilWaiting();
    const reader = wait("reader", read("a"));
    await expect(ours.acquire([read("a")], { owner: "hasty" })).rejects.toThrow(FileReservedError);
    await held.release();
    await inTime(Promise.all([writer, reader]));
    expect(order).toEqual(["writer", "reader"]);
  });

  it("a reservation from another boot counts while it keeps changing", async () => {
    const elsewhere = { ...nodeProcessIdentity(), bootId: "another", host: "other" };
    const farClock = new SimulatedClock();
    const far = new Reservations({ directory, clock: farClock, identity: elsewhere });
    const held = await far.acquire([write("a")], { owner: "Ann", ttlMs: minute });
    await expect(ours.acquire([write("a")], { owner: "Ben" })).rejects.toThrow(FileReservedError);
    clock.advance(minute - 1);
    farClock.advance(1);
    await held.renew();
    await expect(ours.acquire([write("a")], { owner: "Ben" })).rejects.toThrow(FileReservedError);
    clock.advance(minute - 1);
    await expect(ours.acquire([write("a")], { owner: "Ben" })).rejects.toThrow(FileReservedError);
    clock.advance(1);
    await ours.acquire([write("a")], { owner: "Ben" });
  });

  it.each([
    ["other content", "{ no json", 5 * minute],
    [
      "the lock of another tool",
      JSON.stringify({
        owner: "tool",
        operation: "write",
        acquired_at: "2026-01-01T00:00:00Z",
        expires_at: "2026-01-01T00:01:00Z",
      }),
      minute,
    ],
  ])("a lock file with %s counts as held until it expires", async (_name, content, lastsMs) => {
    await (await ours.acquire([write("a")], { owner: "Ann" })).release();
    writeFileSync(lockFile("a", 7), content);
    await expect(ours.acquire([write("a")], { owner: "Ann" })).rejects.toThrow(FileReservedError);
    clock.advance(lastsMs - 1);
    await expect(ours.acquire([write("a")], { owner: "Ann" })).rejects.toThrow(FileReservedError);
    clock.advance(1);
    await ours.acquire([write("a")], { owner: "Ann" });
  });

  it("a reservation lists no additional names after many other paths were reserved", async () => {
    const listed: number[] = [];
    const counting: FileSystem = {
      ...nodeFileSystem,
      readdir: async (path) => {
        const names = await nodeFileSystem.readdir(path);
        listed.push(names?.length ?? 0);
        return names;
      },
    };
    const folder = new LockFolder(new Disk(counting, clock), join(directory, "locks"));
    const free = (path: string) => ({ path, holders: [], waiting: [] });
    for (let at = 0; at < 500; at++) await folder.write({ number: 0, state: free(`${at}`) }, free(`${at}`));
    listed.length = 0;
    for (const path of ["1", "77", "new"]) await folder.read(path);
    expect(Math.max(...listed)).toBeLessThan(5);
  });

  it("a release frees all possible files and names the failed one", async () => {
    const held = await ours.acquire([write("a"), write("b")], { owner: "Ann" });
    damage("a");
    await expect(held.release()).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
    expect(await theirs.holders("b")).toEqual([]);
  });

  it("a failed reservation states the reason, even if it cannot release its files", async () => {
    await theirs.acquire([write("b")], { owner: "Ben" });
    const refused = ours.acquire([write("a"), write("b")], { owner: "Ann", timeoutMs: 1000 });
    await untilWaiting();
    damage("a");
    await expect(inTime(refused)).rejects.toThrow(FileReservedError);
  });

  it("a reservation covers all names of a file: absolute, other spellings and through a link", async () => {
    const root = join(directory, "project");
    mkdirSync(join(root, "folder"), { recursive: true });
    symlinkSync("folder", join(root, "link"));
    symlinkSync(root, join(directory, "linked"));
    mkdirSync(join(directory, "outside"));
    for (const name of ["one", "two"]) symlinkSync(join(directory, "outside"), join(root, name));
    ours = new Reservations({ directory, clock, root });
    theirs = new Reservations({ directory, clock, root: join(directory, "linked") });
    await using held = await ours.acquire([write("folder/a"), write("new/b"), write("one/c")], { owner: "Ann" });
    expect(
      held.files
        .map(({ path }) => path)
        .toSorted()
        .slice(1),
    ).toEqual(["folder/a", "new/b"]);
    const names = ["folder/a", "./folder//a", "link/a", "link/./a", "new/b", "one/c", "two/c"];
    for (const name of [
      ...names,
      ...names.slice(0, 5).map((path) => join(root, path)),
      join(directory, "linked/new/b"),
    ]) {
      await expect(theirs.acquire([write(name)], { owner: "Ben" })).rejects.toThrow(FileReservedError);
      expect(await theirs.holders(name)).toMatchObject([{ owner: "Ann" }]);
    }
    await using free = await theirs.acquire([write("link/b"), write("folder/c")], { owner: "Ben" });
    expect(free.held).toBe(true);
    for (const path of [root, join(directory, "a"), join(root, ".git/a"), join(root, "link/../../a")])
      await expect(ours.acquire([write(path)], { owner: "Ann" })).rejects.toThrow(PathNotAllowedError);
  });

  it("a reservation refuses paths outside the workspace and reserves no files", async () => {
    for (const path of ["../a", "/etc/passwd", "", "a/../../b", "a\0b"])
      await expect(ours.acquire([write("a"), write(path)], { owner: "Ann" })).rejects.toThrow(PathNotAllowedError);
    expect(await ours.holders("a")).toEqual([]);
  });

  it("acquire rejects if a file is lost while it waits for another one", async () => {
    const blocking = await theirs.acquire([write("b")], { owner: "Ben" });
    const acquiring = ours.acquire([write("a"), write("b")], { owner: "Ann", timeoutMs: Infinity, ttlMs: minute });
    await untilWaiting();
    rmSync(lockFile("a", 1));
    clock.advance(minute / 3);
    await untilWaiting();
    await blocking.release();
    await expect(inTime(acquiring)).rejects.toThrow(ReservationLostError);
    expect(await ours.holders("b")).toEqual([]);
  });

  it("a reservation without keepAlive is not renewed after a renewal in flight", async () => {
    const finish: ((deadlineMs: number) => void)[] = [];
    const expiry = new LockExpiry(clock, nodeProcessIdentity());
    const lock = new PathLock(new LockFolder(new Disk(nodeFileSystem, clock), directory), expiry, {
      id: "1",
      owner: "Ann",
      ttlMs: minute,
    });
    const renewing = Object.assign(lock, { renew: () => new Promise<number>((resolve) => void finish.push(resolve)) });
    const held = new HeldFiles(renewing, false);
    held.add(write("a"), minute);
    clock.advance(minute / 3);
    held.complete();
    finish[0]?.(2 * minute);
    await expect.poll(() => (clock.advance(1), held.held && clock.monotonic() > minute / 3)).toBe(true);
    clock.advance(minute);
    expect(finish).toHaveLength(1);
  });

  it("a reservation fails on a file system without hard links", async () => {
    const link = () => Promise.reject(Object.assign(new Error("EPERM"), { code: "EPERM" }));
    const folder = new LockFolder(new Disk({ ...nodeFileSystem, link }, clock), join(directory, "locks"));
    const lock = new PathLock(folder, new LockExpiry(clock, nodeProcessIdentity()), {
      id: "1",
      owner: "Ann",
      ttlMs: minute,
    });
    const acquiring = lock.acquire(write("a"), 0, AbortSignal.timeout(2_000));
    await expect(acquiring).rejects.toMatchObject({ code: "storage_failed", operation: "link" });
  });

  it("a reservation is possible after the directory of the locks was deleted", async () => {
    await (await ours.acquire([write("a")], { owner: "Ann" })).release();
    rmSync(join(directory, "locks"), { recursive: true });
    expect((await ours.acquire([write("a")], { owner: "Ann" })).held).toBe(true);
  });

  it("a process of another time namespace sees a reservation until it was unchanged for its lifetime", async () => {
    const identity = nodeProcessIdentity();
    const later = new WatchedClock();
    later.advance(60 * minute);
    theirs = new Reservations({ directory, clock: later, identity: { ...identity, timeNamespace: "another" } });
    await ours.acquire([write("a")], { owner: "Ann" });
    expect(await theirs.holders("a")).toMatchObject([{ owner: "Ann" }]);
    later.advance(5 * minute);
    expect(await theirs.holders("a")).toEqual([]);
  });
});
