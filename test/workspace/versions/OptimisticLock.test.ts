import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  type PathOrFileDescriptor,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  FileAccessError,
  FileReservedError,
  OptimisticLock,
  PathNotAllowedError,
  ReservationLostError,
  Reservations,
} from "agent-persistence/workspace";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";

let root = "";
let reservations: Reservations;
let lock: OptimisticLock;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "optimistic-"));
  reservations = new Reservations({ directory: join(root, ".agent-persistence") });
  lock = new OptimisticLock({ root, reservations, timeoutMs: 0 });
  writeFileSync(join(root, "a.txt"), "before");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const content = (path: string) => readFileSync(join(root, path), "utf8");

/** Reservations that are asked whether they are still held: after the new content is written, before it replaces the file. */
function heldReservations(whenAsked: () => void, held = true): Reservations {
  const reservation = {
    get held() {
      whenAsked();
      return held;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { acquire: () => Promise.resolve(reservation) } as unknown as Reservations;
}

describe("OptimisticLock", () => {
  it("a commit on a full disk rejects with a typed error and leaves the file", async () => {
    const acquired = await lock.acquire("a.txt");
    const { writeFileSync: write } = fs;
    const refuse = (file: PathOrFileDescriptor, ...rest: [NodeJS.ArrayBufferView]) => {
      if (typeof file === "number") throw Object.assign(new Error("full"), { code: "ENOSPC", syscall: "write" });
      write(file, ...rest);
    };
    Object.assign(fs, { writeFileSync: refuse });
    syncBuiltinESMExports();
    const committing = acquired.checkAndCommit("after");
    await expect(
      committing.finally(() => {
        Object.assign(fs, { writeFileSync: write });
        syncBuiltinESMExports();
      }),
    ).rejects.toMatchObject({ code: "file_access_failed", reason: "does not fit: the disk is full" });
    expect([content("a.txt"), readdirSync(root)]).toEqual(["before", [".agent-persistence", "a.txt"]]);
  });

  it("an optimistic lock commits an unchanged file and continues from the new version", async () => {
    const acquired = await lock.acquire("./a.txt");
    const mtime = statSync(join(root, "a.txt")).mtime.toISOString();
    expect(acquired.version).toEqual({ path: "a.txt", hash: nodeSha256.hex("before"), mtime });
    const first = await acquired.checkAndCommit("first");
    const written = {
      path: "a.txt",
      hash: nodeSha256.hex("first"),
      mtime: statSync(join(root, "a.txt")).mtime.toISOString(),
    };
    expect(first).toEqual({ success: true, version: written });
    expect(acquired.version).toEqual(written);
    expect(await acquired.checkAndCommit(Buffer.from("second"))).toMatchObject({ success: true });
    expect(content("a.txt")).toBe("second");
  });

  it("an optimistic lock overwrites no change of others and returns both versions", async () => {
    const acquired = await lock.acquire("a.txt");
    writeFileSync(join(root, "a.txt"), "theirs");
    const result = await acquired.checkAndCommit("ours");
    const currentHash = nodeSha256.hex("theirs");
    expect(result).toEqual({
      success: false,
      reason: "CONFLICT",
      originalVersion: acquired.version,
      currentHash,
      currentVersion: { path: "a.txt", hash: currentHash, mtime: expect.any(String) as string },
    });
    expect(content("a.txt")).toBe("theirs");
    expect(await acquired.checkAndCommit("ours")).toMatchObject({ success: false });
    const again = await lock.acquire("a.txt");
    expect(await again.checkAndCommit("both")).toMatchObject({ success: true });
    expect(readdirSync(root).toSorted()).toEqual([".agent-persistence", "a.txt"]);
  });

  it("two workers with one optimistic lock cannot commit over each other", async () => {
    const [one, other] = [await lock.acquire("a.txt"), await lock.acquire("a.txt")];
    expect(await other.checkAndCommit("by the other")).toMatchObject({ success: true });
    expect(await one.checkAndCommit("by one")).toMatchObject({ success: false, reason: "CONFLICT" });
    expect(content("a.txt")).toBe("by the other");
  });

  it("an optimistic lock refuses the second of two commits to one acquired version", async () => {
    const patient = new OptimisticLock({ root, reservations, timeoutMs: 60_000 });
    const acquired = await patient.acquire("a.txt");
    const results = await Promise.all([acquired.checkAndCommit("first"), acquired.checkAndCommit("second")]);
    expect(results.filter(({ success }) => success)).toHaveLength(1);
  });

  it("an optimistic lock counts a save after its commit as a change of others", async () => {
    const acquired = await lock.acquire("a.txt");
    const saving = heldReservations(() => {});
    const committed = await new OptimisticLock({ root, reservations: saving }).acquire("a.txt");
    expect(await committed.checkAndCommit("ours")).toMatchObject({ success: true });
    writeFileSync(join(root, "a.txt"), "theirs");
    expect(await committed.checkAndCommit("ours again")).toMatchObject({ success: false });
    expect(await acquired.checkAndCommit("ours")).toMatchObject({ success: false });
  });

  it("an optimistic lock detects a save while the new content is written", async () => {
    const saves: readonly (() => void)[] = [
      () => writeFileSync(join(root, "a.txt"), "theirs"),
      () => writeFileSync(join(root, "a.txt"), "BEFORE"),
      () => rmSync(join(root, "a.txt")),
    ];
    for (const save of saves) {
      writeFileSync(join(root, "a.txt"), "before");
      utimesSync(join(root, "a.txt"), 1, 1);
      const acquired = await new OptimisticLock({ root, reservations: heldReservations(save) }).acquire("a.txt");
      expect(await acquired.checkAndCommit("ours")).toMatchObject({ success: false, reason: "CONFLICT" });
      expect(readdirSync(root).filter((name) => name.endsWith(".agent-tmp"))).toEqual([]);
    }
  });

  it("an optimistic lock writes no file after its reservation is lost", async () => {
    const lost = heldReservations(() => {}, false);
    const acquired = await new OptimisticLock({ root, reservations: lost }).acquire("a.txt");
    await expect(acquired.checkAndCommit("ours")).rejects.toThrow(ReservationLostError);
    expect(content("a.txt")).toBe("before");
    expect(readdirSync(root).filter((name) => name.endsWith(".agent-tmp"))).toEqual([]);
  });

  it("an optimistic lock removes temporary files of a killed commit", async () => {
    const left = join(root, `.${nodeSha256.hex("a.txt").slice(0, 16)}-0123456789abcdef.agent-tmp`);
    writeFileSync(left, "half of it");
    const acquired = await lock.acquire("a.txt");
    expect(await acquired.checkAndCommit("ours")).toMatchObject({ success: true });
    expect(existsSync(left)).toBe(false);
  });

  it("an optimistic lock compares content, not time", async () => {
    const acquired = await lock.acquire("a.txt");
    const { mtime, atime } = statSync(join(root, "a.txt"));
    writeFileSync(join(root, "a.txt"), "BEFORE");
    utimesSync(join(root, "a.txt"), atime, mtime);
    expect(await acquired.checkAndCommit("ours")).toMatchObject({ success: false });
    writeFileSync(join(root, "a.txt"), "before");
    utimesSync(join(root, "a.txt"), 1, 1);
    expect(await acquired.checkAndCommit("ours")).toMatchObject({ success: true });
  });

  it("an optimistic lock counts a missing file as a version", async () => {
    const missing = await lock.acquire("new/b.txt");
    expect(missing.version).toEqual({ path: "new/b.txt", hash: "", mtime: "" });
    mkdirSync(join(root, "new"));
    writeFileSync(join(root, "new/b.txt"), "");
    expect(await missing.checkAndCommit("ours")).toMatchObject({ success: false });
    const created = await lock.acquire("other/c.txt");
    expect(await created.checkAndCommit("ours")).toMatchObject({ success: true });
    rmSync(join(root, "other"), { recursive: true });
    expect(await created.checkAndCommit("again")).toMatchObject({ success: false, currentHash: "" });
  });

  it("an optimistic lock keeps the mode of the file", async () => {
    chmodSync(join(root, "a.txt"), 0o755);
    const acquired = await lock.acquire("a.txt");
    await acquired.checkAndCommit("#!/bin/sh\n");
    expect(statSync(join(root, "a.txt")).mode & 0o777).toBe(0o755);
  });

  it("an optimistic lock lets one of many commits to one acquired version win", async () => {
    const patient = new OptimisticLock({ root, reservations, timeoutMs: 60_000 });
    const workers = await Promise.all(Array.from({ length: 8 }, () => patient.acquire("a.txt")));
    const results = await Promise.all(workers.map((each, index) => each.checkAndCommit(`by ${index}`)));
    const winners = results.flatMap(({ success }, index) => (success ? [`by ${index}`] : []));
    expect(winners).toEqual([content("a.txt")]);
  });

  it("an optimistic lock refuses files held by others, links, and paths outside the root", async () => {
    const acquired = await lock.acquire("a.txt");
    await using held = await reservations.acquire([{ path: "a.txt", operation: "read" }], { owner: "reader" });
    await expect(acquired.checkAndCommit("ours")).rejects.toThrow(FileReservedError);
    await held.release();
    for (const path of ["../a.txt", "/etc/passwd", ".git/config"])
      await expect(lock.acquire(path)).rejects.toThrow(PathNotAllowedError);
    symlinkSync("/etc", join(root, "etc"));
    symlinkSync("a.txt", join(root, "link.txt"));
    await expect(lock.acquire("etc/passwd")).rejects.toThrow(PathNotAllowedError);
    await expect(lock.acquire("link.txt")).rejects.toThrow(FileAccessError);
    expect(content("a.txt")).toBe("before");
  });
});
