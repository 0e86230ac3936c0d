import { cp } from "node:fs/promises";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  strategy,
} from "agent-persistence";
import { destroyKey, encrypted } from "agent-persistence/encryption";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { FaultyFileSystem } from "../storage/file/support/FaultyFileSystem.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { testKeys } from "./encryptedHarness.ts";
import { bytesUnder, openBooks } from "./storedBytes.ts";

const echo = strategy<string, string>("echo", (graph) => {
  const node = graph.node("node", (input: string) => input);
  graph.edge(graph.start, node);
  graph.edge(node, graph.finish);
});

function agentOn(storage: PersistenceStorageProvider) {
  const promptExecutor = { execute: () => Promise.reject(new Error("no model is asked")) };
  return new AIAgent({ promptExecutor, llmModel: "none", strategy: echo }).install(Persistence, { storage });
}

/** Makes an agent with an inbox. Returns the stored forms of their data keys. */
async function fill(stored: LogPersistenceStorageProvider): Promise<readonly string[]> {
  const agent = agentOn(encrypted(stored, { keys: testKeys("first") }));
  await agent.run("one", { agentId: "a" });
  await persistence(agent).agent("a").send("news", "first");
  const keys = await Promise.all(["a", "inbox:a"].map((agentId) => collect(stored.log.read(`data_key:${agentId}`))));
  return [...JSON.stringify(keys).matchAll(/"wrapped":"([A-Za-z0-9_-]+)"/g)].map(([, key = ""]) => key);
}

const remove = (stored: LogPersistenceStorageProvider) =>
  persistence(agentOn(encrypted(stored, { keys: testKeys("first") }))).deleteAgent("a");

it("destroys the key of an agent whose id is too long for an inbox", async () => {
  const storage = encrypted(new InMemoryPersistenceStorageProvider(), { keys: testKeys("first") });
  const agentId = "a".repeat(1024);
  await agentOn(storage).run("one", { agentId });
  await destroyKey(storage, agentId);
  await expect(agentOn(storage).run("two", { agentId })).rejects.toMatchObject({ code: "key_missing" });
  await persistence(agentOn(storage)).deleteAgent(agentId);
  expect(await collect(storage.log.list())).toEqual([]);
});

describe("an agent with an inbox whose key was destroyed", () => {
  it.each(["in memory", "in files", "in SQLite"])("can be deleted, and its id used again %s", async (name) => {
    const book = await openBooks[name]?.();
    if (!book) throw new Error(`there is no ${name}`);
    const storage = encrypted(book.storage, { keys: testKeys("first") });
    await fill(book.storage);
    const agent = agentOn(storage);
    const feature = persistence(agent);
    await destroyKey(storage, "a");
    await feature.deleteAgent("a");
    expect(await collect(storage.log.list())).toEqual([]);
    await agent.run("two", { agentId: "a", runId: "next" });
    await feature.agent("a").send("news", "second");
    expect((await collect(storage.log.read("inbox:a"))).flatMap(({ records }) => records)).toContainEqual(
      expect.objectContaining({ kind: "event", name: "news" }),
    );
  });
});

describe("a repeated deletion of an agent with an inbox", () => {
  it.each(Object.entries(openBooks))("removes the keys that an interrupted deletion left %s", async (_name, open) => {
    const { storage: stored, bytes, tidy } = await open();
    const keys = await fill(stored);
    expect(keys).toHaveLength(2);
    for (const agentId of ["data_key:inbox:a", "data_key:a"]) {
      const crashing = delegatingLog(stored.log, {
        open: (id, owner) => (id === agentId ? Promise.reject(new Error("crash")) : stored.log.open(id, owner)),
      });
      await expect(remove(new LogPersistenceStorageProvider(crashing))).rejects.toThrow("crash");
    }
    await remove(stored);
    tidy?.();
    const left = (await bytes()).toString("latin1");
    expect(keys.filter((key) => left.includes(key))).toEqual([]);
  });

  it("removes all data and keys after an end at any call to the file system", async () => {
    const original = await testDirectory();
    const open = (directory: string, fileSystem = new FaultyFileSystem()) =>
      new FilePersistenceStorageProvider({ directory, fileSystem });
    const keys = await fill(open(original));
    const end = async (call: number) => {
      const [directory, fileSystem] = [await testDirectory(), new FaultyFileSystem()];
      await cp(original, directory, { recursive: true });
      fileSystem.failAt(call, "EIO", true);
      await remove(open(directory, fileSystem)).catch(() => {});
      const calls = [...fileSystem.calls];
      fileSystem.heal();
      await remove(open(directory, fileSystem));
      const bytes = await bytesUnder(directory);
      return { call, calls, left: [...keys, '"kind":"encrypted"'].filter((text) => bytes.includes(text)) };
    };
    const { calls } = await end(Infinity);
    const changes = calls.flatMap((name, at) => (/^(?:readFile|readdir|stat)$/.test(name) ? [] : at + 1));
    const found = await Promise.all(changes.map((call) => end(call)));
    expect(found.flatMap(({ call, left }) => (left.length > 0 ? [{ call, left }] : []))).toEqual([]);
  });
});
