import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { RowsProvider } from "../persistence/support/storages.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { Coder, temporaryFolder } from "../workspace/fixture.ts";
import { put, Shell } from "../workspace/Shell.ts";
import { loopAgent } from "./support/loopAgent.ts";
import { ofKind, stepsOf } from "./support/stepsOf.ts";

/** A storage that refuses everything that would change it. */
function readOnly(storage: LogPersistenceStorageProvider): LogPersistenceStorageProvider {
  const refuse = () => Promise.reject(new Error("this would write"));
  const blobs = {
    ...storage.log.blobs,
    get: storage.log.blobs.get.bind(storage.log.blobs),
    put: refuse,
    delete: refuse,
  };
  const log = new Proxy(storage.log, {
    get(target, name) {
      if (["open", "receive", "requestStop", "makeRoom"].includes(String(name))) return refuse;
      if (name === "blobs") return blobs;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  return Object.create(storage, { log: { value: log } }) as LogPersistenceStorageProvider;
}

describe("an inspector", () => {
  it("writes no data, owns no agent and returns only JSON", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await loopAgent(storage).run("hello");
    const view = inspect(readOnly(storage));
    const documents: unknown[] = [
      await view.agent("a"),
      await view.steps("a"),
      await view.checkpoints("a"),
      await view.checkpoint("a", "1-3"),
      await view.diff("a", "1-2", "1-4"),
      await view.files("a"),
      await view.previewRollback("a", "1-2"),
    ];
    for await (const agent of view.agents()) documents.push(agent);
    for await (const entry of view.records("a")) documents.push(entry);
    expect(JSON.parse(JSON.stringify(documents))).toEqual(documents);
  });

  it("shows tasks with their name and priority, by status and page by page", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const tasks = new TaskManager({ storage });
    for (const priority of [1, 3, 2])
      await tasks.create({ taskId: `t${priority}`, taskName: "work", inputRequest: "go", priority });
    const view = inspect(storage);
    const [first] = await collect(view.agents({ limit: 1 }));
    expect(first).toMatchObject({ agentId: "t3", status: "queued", taskName: "work", priority: 3 });
    const rest = await collect(view.agents({ status: "queued", after: first?.cursor }));
    expect(rest.map(({ agentId }) => agentId)).toEqual(["t2", "t1"]);
    expect(await collect(view.agents({ status: "failed" }))).toEqual([]);
    expect(await view.agent("t3")).toMatchObject({ status: "queued", task: { name: "work", priority: 3 } });
    expect(ofKind(await stepsOf(storage, "t3"), "status")).toMatchObject([{ status: "queued" }]);
  });

  it("pages through checkpoints in both directions and marks those that a rollback left", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = loopAgent(storage);
    await agent.run("hello");
    const of = persistence(agent).agent("a");
    await of.rollbackToCheckpoint("1-2");
    await of.nameCheckpoint("1-3", "before");
    const view = inspect(storage);
    const last = await view.checkpoints("a", { limit: 2 });
    expect(last).toMatchObject({
      total: 5,
      before: 4,
      checkpoints: [
        { version: 4, isLeft: true },
        { version: 5, isHead: true },
      ],
    });
    const before = await view.checkpoints("a", { before: last.before, limit: 2 });
    expect(before.checkpoints.map(({ checkpointId, name }) => name ?? checkpointId)).toEqual(["1-2", "before"]);
    expect(before).toMatchObject({ before: 2, after: 3 });
    const after = await view.checkpoints("a", { after: before.after });
    expect(after.checkpoints.map(({ version }) => version)).toEqual([4, 5]);
    expect(await view.checkpoint("a", "before")).toMatchObject({ checkpoint: { version: 3 }, messageCount: 3 });
  });

  it("shows a page of a history and the difference between two checkpoints", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await loopAgent(storage).run("hello");
    const view = inspect(storage);
    const page = await view.checkpoint("a", "1-4", { messagesLimit: 2 });
    expect(page).toMatchObject({
      messageCount: 5,
      messagesBefore: 3,
      model: "scripted",
      tools: ["add", "send", "bad"],
    });
    expect((await view.checkpoint("a", "1-4", { messagesBefore: 3 })).messages).toHaveLength(3);
    const { messages, input, settings, storage: stored } = await view.diff("a", "1-2", "1-4");
    expect(messages).toMatchObject({ kept: 3, removed: [], added: page.messages });
    expect(input).toMatchObject({ after: { value: "done" } });
    expect([settings, stored]).toEqual([{}, {}]);
  });

  it("shows changed files, their earlier contents, and the effect of a rollback on them", async () => {
    const coder = new Coder([
      ["write_file", { path: "a", content: "one" }],
      ["write_file", { path: "b", content: "two" }],
      ["write_file", { path: "a", content: "three" }],
    ]);
    await coder.run();
    const view = inspect(coder.storage);
    const changes = await view.files("coder");
    expect(changes.map(({ path, change }) => [path, change])).toEqual([
      ["a", "created"],
      ["b", "created"],
      ["a", "modified"],
    ]);
    const content = changes[0]?.after?.kind === "file" ? changes[0].after.hash : "";
    expect(new TextDecoder().decode(await view.fileContent("coder", content))).toBe("one");
    expect(await view.fileContent("coder", "0".repeat(64))).toBeUndefined();
    const { checkpoints } = await view.checkpoints("coder");
    const [, , written, , both, , end] = checkpoints.map(({ checkpointId }) => checkpointId);
    const { files } = await view.diff("coder", written ?? "", end ?? "");
    expect(files.map(({ path, change }) => [path, change])).toEqual([
      ["a", "modified"],
      ["b", "created"],
    ]);
    const back = await view.diff("coder", end ?? "", written ?? "");
    expect(back.files.map(({ path, change }) => [path, change])).toEqual([
      ["a", "modified"],
      ["b", "deleted"],
    ]);
    const preview = await view.previewRollback("coder", written ?? "");
    expect(preview).toMatchObject({ revert: [], irreversible: [], inDoubt: [], files: back.files });
    expect((await view.files("coder", both)).map(({ path }) => path)).toEqual(["a", "b"]);
    const calls = ofKind(await stepsOf(coder.storage, "coder"), "visit").flatMap(({ calls: each }) => each);
    expect(calls.map(({ undo }) => undo)).toEqual(["with_files", "with_files", "with_files"]);
  });

  it("reads the contents of files that one call changed with one read of a blob", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `file ${at}`);
    const root = temporaryFolder();
    const shell = new Shell(root, [() => put(root, Object.fromEntries(names.map((name) => [name, `in ${name}`])))]);
    await shell.run();
    const view = inspect(shell.storage);
    const reads = vi.spyOn(shell.storage.log.blobs, "get");
    const changes = await view.files("shell");
    for (const { path, after } of changes) {
      const hash = after?.kind === "file" ? after.hash : "";
      expect(new TextDecoder().decode(await view.fileContent("shell", hash))).toBe(`in ${path}`);
    }
    expect(changes.map(({ path }) => path).toSorted()).toEqual(names.toSorted());
    expect(reads.mock.calls.length).toBe(1);
  });

  it("shows a fork with its source agent, whose calls belong to the source", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = loopAgent(storage);
    await agent.run("hello");
    await persistence(agent).agent("a").fork("b");
    const view = inspect(storage);
    expect(await view.agent("b")).toMatchObject({ forkOf: { agentId: "a" }, inDoubt: [] });
    const {
      checkpoints: [first],
    } = await view.checkpoints("b");
    expect(await view.previewRollback("b", first?.checkpointId ?? "")).toMatchObject({ revert: [], irreversible: [] });
    expect(ofKind(await stepsOf(storage, "b"), "log")).toMatchObject([{ what: "forked", agentId: "a" }]);
  });

  it("shows the data that a pruning left", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = loopAgent(storage);
    for (const text of ["one", "two", "three"]) await agent.run(text);
    await persistence(agent).prune({ policy: { maxCheckpoints: 2 } });
    const kept = await storage.getCheckpoints("a");
    const view = inspect(storage);
    expect((await view.checkpoints("a")).checkpoints.map(({ checkpointId }) => checkpointId)).toEqual(
      kept.map(({ checkpointId }) => checkpointId),
    );
    for (const { checkpointId, messageHistory, lastInput } of kept) {
      const { messages, input } = await view.checkpoint("a", checkpointId);
      expect(messages.map(({ message }) => message)).toEqual(messageHistory.map((value) => ({ value })));
      expect(input).toEqual({ value: lastInput });
    }
    expect(ofKind(await stepsOf(storage), "log")).toMatchObject([{ what: "pruned" }]);
  });

  it("shows the checkpoints of a three-method storage and reports that it cannot list", async () => {
    const storage = new RowsProvider();
    await loopAgent(storage).run("hello");
    const view = inspect(storage);
    expect((await view.checkpoints("a")).checkpoints).toHaveLength(4);
    await expect(view.agents().next()).rejects.toMatchObject({ code: "storage_not_listable" });
  });

  it("lists a log without an agent by its shape and shows only its records", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const owned = await storage.log.open("thread:t", { host: "h", processId: 1, nonce: "n" });
    const [agentId, at] = ["thread:t", new Date(0).toISOString()];
    const records = [{ kind: "shape", shape: "thread", version: 1, at: 0 }];
    const summary = {
      agentId,
      status: "thread",
      order: "~~0 thread:t",
      requestIds: [],
      position: 0,
      createdAt: at,
      updatedAt: at,
      data: {},
    };
    await owned.append({ id: "1", records, summary }, 0);
    await owned.release();
    const view = inspect(storage);
    expect(await collect(view.agents())).toMatchObject([{ agentId, shape: "thread", status: "unknown" }]);
    expect(await view.agent(agentId)).toMatchObject({ shape: "thread", damage: [], counts: { checkpoints: 0 } });
    expect(await view.steps(agentId)).toMatchObject({ steps: [], damage: [] });
    expect(await collect(view.records(agentId))).toMatchObject([{ position: 1, records }]);
  });

  it("follows a log with its existing and new records until it is aborted", async () => {
    const clock = new SimulatedClock();
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = loopAgent(storage);
    await agent.run("one");
    const view = inspect(storage, { clock });
    const { position } = (await view.agent("a")) ?? { position: 0 };
    const ended = new AbortController();
    const seen: number[] = [];
    const following = (async () => {
      for await (const entry of view.follow("a", { signal: ended.signal, after: position - 1 })) {
        seen.push(entry.position);
        if (seen.length === 2) ended.abort();
      }
    })();
    await agent.run("two");
    const passing = setInterval(() => clock.advance(500));
    await following.finally(() => clearInterval(passing));
    expect(seen).toEqual([position, position + 1]);
  });

  it("returns empty results for an unknown agent and refuses invalid options and checkpoints by name", async () => {
    const view = inspect(new InMemoryPersistenceStorageProvider());
    expect(await view.agent("nobody")).toBeUndefined();
    expect(await view.steps("nobody")).toMatchObject({ steps: [], position: 0 });
    expect(await view.checkpoints("nobody")).toEqual({ checkpoints: [], total: 0, damage: [] });
    await expect(view.checkpoint("nobody", "1-1")).rejects.toMatchObject({ code: "checkpoint_not_found" });
    await expect(view.steps("a", { last: 3 } as never)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(view.agent("")).rejects.toMatchObject({ code: "invalid_agent_id" });
    expect(() => inspect({} as never)).toThrow(/storage of inspect/);
  });
});
