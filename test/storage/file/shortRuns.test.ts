import { AIAgent, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { FaultyFileSystem } from "./support/FaultyFileSystem.ts";
import { testDirectory } from "./support/fixture.ts";

const isSync = (call: string) => ["fsync", "fdatasync", "fsyncDir"].includes(call);

/** The calls of runs with one model request, in one process. */
async function runs() {
  const fileSystem = new FaultyFileSystem();
  const storage = new FilePersistenceStorageProvider({ directory: await testDirectory(), fileSystem });
  return async (id: string): Promise<readonly string[]> => {
    const begun = fileSystem.calls.length;
    const agent = new AIAgent({ id, llmModel: "m", promptExecutor: scriptedModel(["done"]) });
    await agent.install(Persistence, { storage }).run("go");
    return fileSystem.calls.slice(begun);
  };
}

it("a first run syncs its directories, its segment and two appends, and reads no file", async () => {
  const run = await runs();
  const calls = await run("a");
  expect(calls.filter(isSync)).toEqual([
    ...Array.from({ length: 4 }, () => "fsyncDir"),
    "fdatasync",
    "fsyncDir",
    "fdatasync",
    "fdatasync",
  ]);
  expect(calls).not.toContain("readFile");
});

it("a later run syncs its segment and two appends", async () => {
  const run = await runs();
  await run("a");
  const calls = await run("a");
  expect(calls.filter(isSync)).toEqual(["fdatasync", "fsyncDir", "fdatasync", "fdatasync"]);
  expect(calls.length).toBeLessThanOrEqual(40);
});
