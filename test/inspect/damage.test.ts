import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { inspect } from "agent-persistence/inspect";
import { PersistenceSession } from "agent-persistence/openai-agents";
import type { LogRecord } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { collect } from "../storage/file/support/fixture.ts";
import { TimelineReader } from "../../src/timeline/data/TimelineReader.ts";
import { temporaryFolder } from "../workspace/fixture.ts";
import { loopAgent } from "./support/loopAgent.ts";
import { ofKind, stepsOf } from "./support/stepsOf.ts";

/** Changes the file of a folder whose text contains something, at that place. */
async function alter(folder: string, text: string, changed: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    const content = await readFile(path, "utf8").catch(() => "");
    if (content.includes(text)) return writeFile(path, content.replace(text, changed));
  }
  throw new Error(`No file has ${text}.`);
}

/** Appends records as another program could. */
async function append(storage: InMemoryPersistenceStorageProvider, ...records: readonly object[]): Promise<void> {
  const owned = await storage.log.open("a", { host: "h", processId: 1, nonce: "n" });
  await owned.append({ id: `forged ${owned.position}`, records: records as readonly LogRecord[] }, owned.position);
  await owned.release();
}

/** A storage of which every text "deep" is a list of 10,000 levels, which nothing could append. */
function withDeepValues(storage: InMemoryPersistenceStorageProvider): InMemoryPersistenceStorageProvider {
  const deep = JSON.parse("[".repeat(10_000) + "]".repeat(10_000)) as unknown;
  const log = Object.assign(Object.create(storage.log) as typeof storage.log, {
    blobs: storage.log.blobs,
    owner: () => Promise.resolve(undefined),
    async *read(agentId: string, options: object) {
      for await (const entry of storage.log.read(agentId, options)) {
        const records = entry.records.map((record) =>
          "input" in record && record.input === "deep" ? { ...record, input: deep } : record,
        );
        yield { ...entry, records };
      }
    },
  });
  return Object.create(storage, { log: { value: log } }) as InMemoryPersistenceStorageProvider;
}

describe("damaged or hostile data in a log", () => {
  it("is named and hides no earlier step", async () => {
    const directory = temporaryFolder();
    await loopAgent(new FilePersistenceStorageProvider({ directory })).run("hello");
    await alter(directory, '"node":"callModel","input":{"$outcomes"', '"node":"callModle","input":{"$outcomes"');
    const storage = new FilePersistenceStorageProvider({ directory });
    const view = inspect(storage);
    const agent = await view.agent("a");
    expect(agent).toMatchObject({ status: "unreadable", head: { checkpointId: "1-2" } });
    expect(agent?.damage).toMatchObject([{ code: "corrupt_log", lastPosition: 3, lastCheckpointId: "1-2" }]);
    const { steps, damage } = await view.steps("a");
    expect(damage).toEqual(agent?.damage);
    expect(ofKind(steps, "visit").at(-1)).toMatchObject({ state: "cut", calls: [{ state: "in_doubt" }, {}, {}] });
    expect(await view.checkpoint("a", "1-2")).toMatchObject({ messageCount: 3 });
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { position } of view.records("a")) seen.push(position);
    })();
    await expect(reading).rejects.toMatchObject({ code: "corrupt_log" });
    expect(seen).toEqual([1, 2, 3]);
  });

  it("is named at a cut end, and the remaining steps are shown", async () => {
    const directory = temporaryFolder();
    await loopAgent(new FilePersistenceStorageProvider({ directory })).run("hello");
    await alter(directory, '"node":"finish"', '"node":"finnish"');
    const view = inspect(new FilePersistenceStorageProvider({ directory }));
    const { steps, damage } = await view.steps("a");
    expect(damage).toMatchObject([{ code: "corrupt_log", lastPosition: 4, lastCheckpointId: "1-3" }]);
    expect(ofKind(steps, "visit").map(({ state }) => state)).toEqual(["ended", "ended"]);
    expect(await view.checkpoint("a", "1-3")).toMatchObject({ checkpoint: { node: "callModel" } });
  });

  it("is named by all views if the first line of the only segment is damaged", async () => {
    const directory = temporaryFolder();
    await loopAgent(new FilePersistenceStorageProvider({ directory })).run("hello");
    await alter(directory, '{"claim":', '{"clain":');
    const view = inspect(new FilePersistenceStorageProvider({ directory }));
    const damage = [{ code: "corrupt_log", line: 1, lastPosition: 0 }];
    expect(await view.agent("a")).toMatchObject({ status: "unreadable", damage });
    expect(await view.steps("a")).toMatchObject({ steps: [], damage });
    expect(await view.checkpoints("a")).toMatchObject({ checkpoints: [], damage });
    for (const read of [view.checkpoint("a", "1-2"), view.diff("a", "1-1", "1-2"), view.previewRollback("a", "1-2")])
      await expect(read).rejects.toMatchObject({ code: "corrupt_log", line: 1 });
  });

  it("is named in a log without an agent, and the timeline shows the appends before the damage", async () => {
    const directory = temporaryFolder();
    await using session = new PersistenceSession({
      storage: new FilePersistenceStorageProvider({ directory }),
      sessionId: "talk",
    });
    for (const content of ["Hello", "Bye"]) await session.addItems([{ role: "user", content }]);
    await alter(directory, "Bye", "Bie");
    const view = inspect(new FilePersistenceStorageProvider({ directory }));
    const agent = await view.agent("session:talk");
    expect(agent).toMatchObject({ shape: "session", status: "unreadable", damage: [{ code: "corrupt_log" }] });
    const items = await collect(new TimelineReader(view, "session:talk", {}).items());
    expect(JSON.stringify(items)).toContain("Hello");
    expect(items.at(-1)).toMatchObject({ kind: "damage", text: agent?.damage[0]?.message });
  });

  it("is a single unreadable value if a blob is missing", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await loopAgent(storage).run("x".repeat(20_000));
    const view = inspect(storage);
    expect((await view.agent("a"))?.runs[0]?.input).toMatchObject({ value: "x".repeat(20_000) });
    const without = Object.create(storage, {
      log: {
        value: Object.assign(Object.create(storage.log), {
          read: storage.log.read.bind(storage.log),
          owner: storage.log.owner.bind(storage.log),
          blobs: { ...storage.log.blobs, get: async () => undefined },
        }),
      },
    }) as InMemoryPersistenceStorageProvider;
    const blind = await inspect(without).agent("a");
    expect(blind).toMatchObject({
      status: "completed",
      runs: [{ input: { unreadable: { code: "unreadable_value" } } }],
    });
    expect((await inspect(without).checkpoint("a", "1-4")).input).toEqual({ value: "done" });
  });

  it("is named if a record was never written by the library, with all other records shown", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await loopAgent(storage).run("hello");
    await append(storage, { kind: "checkpoint", lane: 1, version: 2, at: 0, node: "n", input: 0, iteration: 0 });
    const view = inspect(storage);
    expect(await view.agent("a")).toMatchObject({ damage: [{ code: "unreadable_value", lastPosition: 5 }] });
    expect(await stepsOf(storage)).toHaveLength(5);
    expect(await collect(view.records("a"))).toHaveLength(6);
    await append(storage, { kind: "later" });
    expect((await view.agent("a"))?.damage).toHaveLength(1);
  });

  it("is shown as plain values, truncated if too large: markup, control characters, 10,000 levels and 5 MB", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await loopAgent(storage).run("<script>alert(1)</script>\u001b[31m");
    await append(
      storage,
      { kind: "run", run: "r", at: 0, input: JSON.parse('{"__proto__": {"polluted": true}}') as unknown },
      { kind: "lane", lane: 2, keep: "nothing" },
      { kind: "checkpoint", lane: 2, version: 9, at: 0, node: "n", input: "deep", iteration: 0 },
      { kind: "storage", lane: 2, key: "__proto__", value: "y".repeat(5_000_000) },
      { kind: "answer", lane: 2, visit: [9, 0], ordinal: 0, node: "n", message: { $answer: [9, 0, 0] } },
      { kind: "checkpoint", lane: 2, version: 10, at: 0, node: "n", input: { $message: 77 }, iteration: 0 },
    );
    const steps = await stepsOf(withDeepValues(storage));
    expect(ofKind(steps, "run")[0]?.run.input).toEqual({ value: "<script>alert(1)</script>\u001b[31m" });
    expect(({} as { polluted?: true }).polluted).toBeUndefined();
    expect(ofKind(steps, "begin").at(-1)?.output).toMatchObject({ cut: true });
    const last = ofKind(steps, "visit").at(-1);
    expect(last).toMatchObject({ output: { unreadable: {} }, answers: [{ message: { unreadable: {} } }] });
    expect(JSON.stringify(last?.changes.storage).length).toBeLessThan(101_000);
    expect(JSON.stringify(await inspect(storage, { maxValueLength: Infinity }).steps("a")).length).toBeGreaterThan(
      5_000_000,
    );
  });
});
