import { expect, it } from "vitest";
import type { FileSystem } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { append, message, nextOwner, testDirectory, testLog, TestMachine } from "./support/fixture.ts";
import { TestClock } from "./support/TestClock.ts";

/** Does something once, right before a segment gets its name. */
function beforeLink(action: () => Promise<void>): FileSystem {
  let pending: (() => Promise<void>) | undefined = action;
  return {
    ...nodeFileSystem,
    async link(existing, path) {
      const now = pending;
      pending = undefined;
      await now?.();
      return nodeFileSystem.link(existing, path);
    },
  };
}

it("an agent that another process deletes during an open is opened empty", async () => {
  const directory = await testDirectory();
  const other = testLog(directory);
  const remove = async () => {
    const owned = await other.open("a", nextOwner());
    await owned.append({ id: "1-1", records: [message("one")] }, owned.position);
    await owned.drop();
    await owned.release();
  };
  const owned = await testLog(directory, { fileSystem: beforeLink(remove) }).open("a", nextOwner());
  expect(owned.generation).toBeGreaterThan(2);
  await owned.release();
});

it("an owner that sleeps while its agent is deleted loses it, even if it deletes the agent itself", async () => {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const identity = machine.start();
  const remove = async () => {
    machine.end(identity);
    const other = await testLog(directory, { processIdentity: machine.start() }).open("a", nextOwner());
    await other.drop();
    await other.release();
  };
  const first = testLog(directory, { processIdentity: identity });
  await (await first.open("a", nextOwner())).release();
  let asleep = false;
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    async link(existing, path) {
      if (asleep) await remove();
      return nodeFileSystem.link(existing, path);
    },
  };
  const owned = await testLog(directory, { processIdentity: identity, fileSystem }).open("a", nextOwner());
  await owned.append({ id: "1-1", records: [message("one")] }, owned.position);
  asleep = true;
  await expect(owned.drop()).rejects.toMatchObject({ code: "ownership_lost" });
});

type Suspended = Partial<Pick<FileSystem, "readdir" | "unlink">>;

/** Two processes, of which the first one sleeps in a chosen call of its file system. */
async function sleeper(fileSystem: (sleep: () => Promise<void>) => Suspended) {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const clock = new TestClock();
  let [isSleeping, fallAsleep, wake] = [true, () => {}, () => {}];
  const asleep = new Promise<void>((resolve) => (fallAsleep = resolve));
  const woken = new Promise<void>((resolve) => (wake = resolve));
  const sleep = async () => {
    if (!isSleeping) return;
    isSleeping = false;
    fallAsleep();
    await woken;
  };
  const suspended = { ...nodeFileSystem, ...fileSystem(sleep) };
  const log = testLog(directory, { fileSystem: suspended, processIdentity: machine.start() });
  const other = testLog(directory, { clock, processIdentity: machine.start() });
  return { log, other, clock, asleep, wake: () => wake() };
}

it("a deletion that sleeps keeps the blobs of the agent that was created again", async () => {
  const { log, other, asleep, wake } = await sleeper((sleep) => ({
    async unlink(path) {
      await nodeFileSystem.unlink(path);
      if (path.endsWith("1.jsonl")) await sleep();
    },
  }));
  const owned = await log.open("a", nextOwner());
  const old = await log.blobs.put("a", owned.generation, Buffer.from("old"));
  await append(owned, old);
  const dropping = owned.drop();
  await asleep;
  const next = await other.open("a", nextOwner());
  const reference = await other.blobs.put("a", next.generation, Buffer.from("value"));
  await append(next, reference);
  wake();
  await dropping;
  expect(await other.blobs.get("a", reference)).toEqual(Buffer.from("value"));
  expect(await other.blobs.get("a", old)).toBeUndefined();
});

it("an open after a deletion that sleeps keeps the blobs of the next owner", async () => {
  const { log, other, clock, asleep, wake } = await sleeper((sleep) => ({
    async readdir(path) {
      if (path.endsWith("/blobs")) await sleep();
      return nodeFileSystem.readdir(path);
    },
  }));
  const deleted = await other.open("a", nextOwner());
  await append(deleted, "one");
  await deleted.drop();
  const opening = log.open("a", nextOwner());
  await asleep;
  await expect(other.open("a", nextOwner())).rejects.toMatchObject({ code: "agent_busy" });
  clock.advance(60_000);
  const next = await other.open("a", nextOwner());
  const reference = await other.blobs.put("a", next.generation, Buffer.from("value"));
  await append(next, reference);
  wake();
  await Promise.allSettled([opening]);
  expect(await other.blobs.get("a", reference)).toEqual(Buffer.from("value"));
});
