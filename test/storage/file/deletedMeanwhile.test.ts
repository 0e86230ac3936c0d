import { expect, it } from "vitest";
import type { FileSystem } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { message, nextOwner, testDirectory, testLog, TestMachine } from "./support/fixture.ts";

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
