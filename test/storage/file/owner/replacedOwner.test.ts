import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileSystem } from "../../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../../src/nodejs/nodeFileSystem.ts";
import type { FileRecordLog } from "../../../../src/storage/file/FileRecordLog.ts";
import type { OwnedLog } from "../../../../src/storage/RecordLog.ts";
import {
  agentPath,
  append,
  collect,
  filesBelow,
  message,
  nextOwner,
  summaryOf,
  testDirectory,
  testLog,
  TestMachine,
  textsOf,
} from "../support/fixture.ts";
import { SleptClock, TestClock } from "../support/TestClock.ts";

const leaseMs = 9000;

/** An owner, and a process that deletes its agent and receives a shorter log in its place. */
async function replaceableOwner(clock: TestClock, fileSystem: FileSystem = nodeFileSystem) {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const otherClock = new TestClock();
  const log = testLog(directory, { clock, leaseMs, fileSystem, processIdentity: machine.start() });
  const other = testLog(directory, { clock: otherClock, leaseMs, processIdentity: machine.start() });
  const owned = await log.open("a", nextOwner());
  for (const text of ["one", "two"]) await append(owned, text);
  await append(owned, "three", { summary: summaryOf("a", "queued") });
  const replace = async () => {
    await expect(other.open("a", nextOwner())).rejects.toMatchObject({ code: "agent_busy" });
    otherClock.advance(leaseMs + 1000);
    const dropped = await other.open("a", nextOwner());
    await dropped.drop();
    const source = await other.open("b", nextOwner());
    await append(source, "x");
    await source.release();
    const appends = { generation: 1, appends: other.encodedAppends("b") };
    const received = await other.receive("a", nextOwner(), appends, ({ generation, position }) => ({
      id: `${generation}-${position + 1}`,
      records: [message("y")],
      summary: summaryOf("a", "queued"),
    }));
    await received.release();
    clock.advance(leaseMs + 1000);
  };
  return { directory, other, owned, replace };
}

async function expectIntact(other: FileRecordLog) {
  expect(textsOf(await collect(other.read("a")))).toEqual(["x", "y"]);
  expect((await other.open("a", nextOwner())).position).toBe(2);
}

const late = (owned: OwnedLog) => append(owned, "late", { summary: summaryOf("a", "completed") });

describe.each([true, false])("a replaced owner leaves the new log intact, with a heartbeat: %s", (beats) => {
  async function replaced({ stops = false } = {}) {
    const { owned, other, replace } = await replaceableOwner(beats ? new TestClock() : new SleptClock());
    if (stops) {
      await other.requestStop("a", "please");
      await owned.checkStop?.();
    }
    await replace();
    if (beats) await expect.poll(() => owned.lost.aborted).toBe(true);
    return { owned, other };
  }

  it("when it releases the log", async () => {
    const { owned, other } = await replaced();
    await owned.release();
    await expectIntact(other);
  });

  it("when it releases the log after a stop request", async () => {
    const { owned, other } = await replaced({ stops: true });
    await owned.release();
    await expectIntact(other);
  });

  it("when it appends a status", async () => {
    const { owned, other } = await replaced();
    await expect(late(owned)).rejects.toMatchObject({ code: "ownership_lost" });
    await owned.release();
    await expectIntact(other);
  });
});

it("a replaced owner that deletes the agent keeps the state of its successor", async () => {
  const { directory, owned, replace } = await replaceableOwner(new SleptClock());
  await replace();
  const file = join(agentPath(directory, "a"), "state.json");
  const before = await readFile(file, "utf8");
  await expect(owned.drop()).rejects.toMatchObject({ code: "ownership_lost" });
  expect(await readFile(file, "utf8")).toBe(before);
});

it.each([
  ["appends a status", (owned: OwnedLog) => expect(late(owned)).rejects.toMatchObject({ code: "ownership_lost" })],
  ["releases the log", (owned: OwnedLog) => owned.release()],
])("an owner that is replaced while it %s leaves the new log intact", async (_, action) => {
  let replaceNow: (() => Promise<void>) | undefined;
  const create: FileSystem["create"] = async (path) => {
    const replace = replaceNow;
    replaceNow = undefined;
    await replace?.();
    return nodeFileSystem.create(path);
  };
  const { owned, other, replace } = await replaceableOwner(new SleptClock(), { ...nodeFileSystem, create });
  replaceNow = replace;
  await action(owned);
  await owned.release();
  await expectIntact(other);
});

it("a process that releases a log reads the appends of the next owner", async () => {
  const directory = await testDirectory();
  const clock = new TestClock();
  const machine = new TestMachine();
  let [isReleasing, reach, resume] = [false, () => {}, () => {}];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const resumed = new Promise<void>((resolve) => (resume = resolve));
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    async unlink(path) {
      if (isReleasing && path.endsWith(".alive")) {
        reach();
        await resumed;
      }
      return nodeFileSystem.unlink(path);
    },
  };
  const log = testLog(directory, { clock, leaseMs, fileSystem, processIdentity: machine.start() });
  const owned = await log.open("a", nextOwner());
  clock.advance(leaseMs / 2);
  await expect.poll(async () => (await filesIn(directory)).some((path) => path.endsWith("1.alive"))).toBe(true);
  isReleasing = true;
  const released = owned.release();
  await reached;
  isReleasing = false;
  const next = await testLog(directory, { processIdentity: machine.start() }).open("a", nextOwner());
  await append(next, "acknowledged");
  expect(textsOf(await collect(log.read("a")))).toEqual(["acknowledged"]);
  resume();
  await released;
});

async function filesIn(directory: string): Promise<readonly string[]> {
  return [...(await filesBelow(directory)).keys()];
}
