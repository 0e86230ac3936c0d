import { describe, expect, it } from "vitest";
import { PersistenceSession } from "../../../src/openai-agents.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import type { FileSystem } from "../../../src/nodejs/FileSystem.ts";
import { FileRecordLog } from "../../../src/storage/file/FileRecordLog.ts";
import { LogPersistenceStorageProvider } from "../../../src/storage.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { testDirectory } from "./support/fixture.ts";

/** A log whose file system notes its reads of segments, and how many syncs of directories run together. */
async function watchedLog() {
  const found = { readSegments: [] as string[], syncs: 0, together: 0 };
  let running = 0;
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    readFile: (path, ...range) => {
      if (path.endsWith(".jsonl")) found.readSegments.push(path);
      return nodeFileSystem.readFile(path, ...range);
    },
    fsyncDir: async (path) => {
      found.syncs++;
      found.together = Math.max(found.together, ++running);
      await nodeFileSystem.fsyncDir(path);
      running--;
    },
  };
  return { log: new FileRecordLog({ directory: await testDirectory(), fileSystem }), found };
}

describe("the first append of a new log on files", () => {
  it("reads no segment back, for an agent and for a session", async () => {
    const { log, found } = await watchedLog();
    const owned = await log.open("a", processOwner());
    await owned.append({ id: "1-1", records: [{ kind: "run", run: "r" } as never] }, 0);
    const session = new PersistenceSession({ storage: new LogPersistenceStorageProvider(log), sessionId: "talk" });
    await session.addItems([{ role: "user", content: "hello" }]);
    expect(found.readSegments).toEqual([]);
    await owned.release();
    await log.close();
  });

  it("syncs the directories of the agent together", async () => {
    const { log, found } = await watchedLog();
    const owned = await log.open("a", processOwner());
    expect(found).toMatchObject({ together: 4, syncs: 5 });
    await owned.release();
    await log.close();
  });
});
