import { expect, it } from "vitest";
import type { FileSystem } from "../../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../../src/nodejs/nodeFileSystem.ts";
import {
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

/** An owner that slept while another process deleted the agent and received a shorter log in its place. */
async function replacedOwner(clock: TestClock) {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const otherClock = new TestClock();
  const log = testLog(directory, { clock, leaseMs, processIdentity: machine.start() });
  const other = testLog(directory, { clock: otherClock, leaseMs, processIdentity: machine.start() });
  const owned = await log.open("a", nextOwner());
  for (const text of ["one", "two"]) await append(owned, text);
  await append(owned, "three", { summary: summaryOf("a", "queued") });
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
  return { other, owned };
}

it.each([true, false])("a replaced owner leaves the new log intact, with a heartbeat: %s", async (beats) => {
  const { other, owned } = await replacedOwner(beats ? new TestClock() : new SleptClock());
  if (beats) await expect.poll(() => owned.lost.aborted).toBe(true);
  await owned.release();
  expect(textsOf(await collect(other.read("a")))).toEqual(["x", "y"]);
  expect((await other.open("a", nextOwner())).position).toBe(2);
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
