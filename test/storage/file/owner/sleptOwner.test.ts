import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StorageError } from "../../../../src/errors/storageErrors.ts";
import { FaultyFileSystem } from "../support/FaultyFileSystem.ts";
import { agentPath, append, collect, nextOwner, testDirectory, testLog, textsOf } from "../support/fixture.ts";
import { SleptClock } from "../support/TestClock.ts";

const leaseMs = 15_000;
const storing = ["write", "fdatasync", "readdir"];
/** Another `.alive`, a look for `.stop`, and for a higher generation. */
const renewing = ["create", "write", "close", "rename", "readFile", "readdir"];

async function sleptOwner(sleptMs: number) {
  const directory = await testDirectory();
  const [clock, fileSystem] = [new SleptClock(), new FaultyFileSystem()];
  const log = testLog(directory, { clock, fileSystem, leaseMs });
  const owned = await log.open("a", nextOwner());
  await append(owned, "before");
  clock.advance(sleptMs);
  const begun = fileSystem.calls.length;
  return {
    log,
    owned,
    clock,
    fileSystem,
    calls: () => fileSystem.calls.slice(begun),
    failAtOnce: () => fileSystem.failAt(begun + 1, "EIO", false),
    alive: () => readFile(join(agentPath(directory, "a"), "owners/1.alive"), "utf8").catch(() => "none"),
  };
}

describe("an owner that appends", () => {
  it.each([0, leaseMs / 3, leaseMs / 2])(
    "%i ms after its last renewal makes only the three calls of an append",
    async (sleptMs) => {
      const { owned, alive, calls } = await sleptOwner(sleptMs);
      const before = await alive();
      await append(owned, "after");
      expect(calls()).toEqual(storing);
      expect(await alive()).toBe(before);
    },
  );

  it.each([leaseMs / 2 + 1, leaseMs * 3])("%i ms after its last renewal renews before it writes", async (sleptMs) => {
    const { owned, alive, calls } = await sleptOwner(sleptMs);
    const before = await alive();
    await append(owned, "after");
    expect(calls()).toEqual([...renewing, ...storing]);
    expect(await alive()).not.toBe(before);
    await append(owned, "and again");
    expect(calls()).toEqual([...renewing, ...storing, ...storing]);
  });

  it("writes no data and loses ownership if that renewal fails", async () => {
    const { log, owned, calls, failAtOnce, fileSystem } = await sleptOwner(leaseMs);
    failAtOnce();
    const failure: unknown = await append(owned, "after").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ reason: "io" });
    expect(calls()[0]).toBe("create");
    expect(calls()).not.toContain("write");
    await expect(append(owned, "refused")).rejects.toBe(failure);
    fileSystem.heal();
    const next = await log.open("a", nextOwner());
    expect(next.position).toBe(1);
    await append(next, "next");
    expect(textsOf(await collect(log.read("a")))).toEqual(["before", "next"]);
  });
});
