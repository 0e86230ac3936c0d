import { basename } from "node:path";
import { expect, it } from "vitest";
import { AgentBusyError } from "../../../src/errors/storageErrors.ts";
import type { FileSystem } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { append, nextOwner, summaryOf, testDirectory, testLog, TestMachine } from "./support/fixture.ts";

/** Does something once, right before the third read of a large segment: the first two judge its owner. */
function beforeThirdRead(segment: string, action: () => Promise<void>): FileSystem {
  let reads = 0;
  return {
    ...nodeFileSystem,
    async readFile(path, start, length) {
      if (basename(path) === segment && ++reads === 3) await action();
      return nodeFileSystem.readFile(path, start, length);
    },
  };
}

/** A closed log whose next owner keeps segment 1 and replaces segments 2 and 3, and another process. */
async function closedLog() {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const other = testLog(directory, { processIdentity: machine.start() });
  for (const texts of [["x".repeat(300_000), "one"], ["x".repeat(70_000), "two"], ["x".repeat(90_000)]]) {
    const owned = await other.open("a", nextOwner());
    for (const text of texts) await append(owned, text, { summary: summaryOf("a", `after ${text.length}`) });
    await owned.release();
  }
  const open = (fileSystem: FileSystem) =>
    testLog(directory, { processIdentity: machine.start(), fileSystem }).open("a", nextOwner());
  return { other, open };
}

it("an open that another process overtakes finds the agent busy", async () => {
  const { other, open } = await closedLog();
  const overtake = async () => void (await other.open("a", nextOwner()));
  await expect(open(beforeThirdRead("3.jsonl", overtake))).rejects.toBeInstanceOf(AgentBusyError);
});

it("an open that another process overtakes and releases continues after its appends", async () => {
  const { other, open } = await closedLog();
  const overtake = async () => {
    const owned = await other.open("a", nextOwner());
    await append(owned, "faster");
    await owned.release();
  };
  const owned = await open(beforeThirdRead("3.jsonl", overtake));
  expect([owned.generation, owned.position]).toEqual([5, 6]);
});
