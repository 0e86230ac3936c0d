import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/internal/Clock.ts";
import { Disk, storageFailure, systemCode } from "../../src/nodejs/Disk.ts";
import { nodeFileSystem } from "../../src/nodejs/nodeFileSystem.ts";

/** What Node makes of a number that its own library has no name for. */
const unnamed = (number: number) =>
  Object.assign(new Error(`Unknown system error -${number}`), {
    code: `Unknown system error -${number}`,
    errno: -number,
  });

describe.skipIf(process.platform === "win32")("a system error without a name in Node", () => {
  it.each([
    ["EDQUOT", "full"],
    ["ESTALE", "unavailable"],
  ] as const)("%s is recognized by its number", (code, reason) => {
    const error = unnamed(constants.errno[code]);
    expect([systemCode(error), storageFailure(error)]).toEqual([code, reason]);
  });

  it("is otherwise a failure of the device", () => {
    expect(storageFailure(unnamed(9_999))).toBe("io");
  });
});

it.each([
  ["EMFILE", "too_many_files"],
  ["ENFILE", "too_many_files"],
  ["ENOSPC", "full"],
  ["EACCES", "permission"],
])("%s is %s", (code, reason) => {
  expect(storageFailure(Object.assign(new Error(code), { code }))).toBe(reason);
});

it("an error without a code is a failure of every call", async () => {
  const fail = () => Promise.reject(new Error("lost"));
  const disk = new Disk({ ...nodeFileSystem, rename: fail, fsyncDir: fail, unlink: fail }, systemClock);
  for (const call of [() => disk.rename("a", "b"), () => disk.fsyncDir("a"), () => disk.unlink("a")])
    await expect(call()).rejects.toMatchObject({ code: "storage_failed" });
});
