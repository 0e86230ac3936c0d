import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  FileAccessError,
  FileNotAcquiredError,
  FileReservedError,
  OptimisticLock,
  PathNotAllowedError,
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

describe("OptimisticLock", () => {
  it("an optimistic lock commits an unchanged file, and continues from the new version", async () => {
    const version = await lock.acquire("a.txt");
    const mtime = statSync(join(root, "a.txt")).mtime.toISOString();
    expect(version).toEqual({ path: "a.txt", hash: nodeSha256.hex("before"), mtime });
    const first = await lock.checkAndCommit("./a.txt", "first");
    expect(first).toMatchObject({ success: true, version: { hash: nodeSha256.hex("first") } });
    expect(await lock.checkAndCommit("a.txt", Buffer.from("second"))).toMatchObject({ success: true });
    expect(content("a.txt")).toBe("second");
  });

  it("an optimistic lock overwrites no change of others, and returns both versions", async () => {
    const originalVersion = await lock.acquire("a.txt");
    writeFileSync(join(root, "a.txt"), "theirs");
    const result = await lock.checkAndCommit("a.txt", "ours");
    const currentHash = nodeSha256.hex("theirs");
    expect(result).toEqual({
      success: false,
      reason: "CONFLICT",
      originalVersion,
      currentHash,
      currentVersion: { path: "a.txt", hash: currentHash, mtime: expect.any(String) as string },
    });
    expect(content("a.txt")).toBe("theirs");
    expect(await lock.checkAndCommit("a.txt", "ours")).toMatchObject({ success: false });
    await lock.acquire("a.txt");
    expect(await lock.checkAndCommit("a.txt", "both")).toMatchObject({ success: true });
  });

  it("an optimistic lock compares content, not time", async () => {
    await lock.acquire("a.txt");
    const { mtime, atime } = statSync(join(root, "a.txt"));
    writeFileSync(join(root, "a.txt"), "BEFORE");
    utimesSync(join(root, "a.txt"), atime, mtime);
    expect(await lock.checkAndCommit("a.txt", "ours")).toMatchObject({ success: false });
    writeFileSync(join(root, "a.txt"), "before");
    utimesSync(join(root, "a.txt"), 1, 1);
    expect(await lock.checkAndCommit("a.txt", "ours")).toMatchObject({ success: true });
  });

  it("an optimistic lock counts a missing file as a version", async () => {
    expect(await lock.acquire("new/b.txt")).toEqual({ path: "new/b.txt", hash: "", mtime: "" });
    mkdirSync(join(root, "new"));
    writeFileSync(join(root, "new/b.txt"), "");
    expect(await lock.checkAndCommit("new/b.txt", "ours")).toMatchObject({ success: false });
    await lock.acquire("other/c.txt");
    expect(await lock.checkAndCommit("other/c.txt", "ours")).toMatchObject({ success: true });
    rmSync(join(root, "other/c.txt"));
    expect(await lock.checkAndCommit("other/c.txt", "again")).toMatchObject({ success: false, currentHash: "" });
  });

  it("an optimistic lock keeps the mode of the file", async () => {
    chmodSync(join(root, "a.txt"), 0o755);
    await lock.acquire("a.txt");
    await lock.checkAndCommit("a.txt", "#!/bin/sh\n");
    expect(statSync(join(root, "a.txt")).mode & 0o777).toBe(0o755);
  });

  it("of many commits to one acquired version an optimistic lock lets one win", async () => {
    const locks = Array.from({ length: 8 }, () => new OptimisticLock({ root, reservations, timeoutMs: 60_000 }));
    for (const each of locks) await each.acquire("a.txt");
    const results = await Promise.all(locks.map((each, index) => each.checkAndCommit("a.txt", `by ${index}`)));
    const winners = results.flatMap(({ success }, index) => (success ? [`by ${index}`] : []));
    expect(winners).toEqual([content("a.txt")]);
  });

  it("an optimistic lock refuses files not acquired, files that others hold, links, and paths that lead out", async () => {
    await expect(lock.checkAndCommit("a.txt", "ours")).rejects.toThrow(FileNotAcquiredError);
    await lock.acquire("a.txt");
    await using held = await reservations.acquire([{ path: "a.txt", operation: "read" }], { owner: "reader" });
    await expect(lock.checkAndCommit("a.txt", "ours")).rejects.toThrow(FileReservedError);
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
