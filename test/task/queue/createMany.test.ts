import { join } from "node:path";
import { InMemoryPersistenceStorageProvider, type PersistenceEvent } from "agent-persistence";
import { encrypted } from "agent-persistence/encryption";
import { PostgresPersistenceStorageProvider } from "agent-persistence/postgres";
import { type SqliteDatabase, SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { LogPersistenceStorageProvider, processOwner, type RecordLog } from "agent-persistence/storage";
import { type NewTask, TaskManager } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { openBooks } from "../../encryption/storedBytes.ts";
import { collect, testDirectory } from "../../storage/file/support/fixture.ts";
import { newSchema, pool, WatchedClient } from "../../storage/postgres/database.ts";
import { AnswerLosingDatabase, libsql } from "../../storage/sqlite/libsql.ts";
import { delegatingLog } from "../../testing/delegatingLog.ts";

interface Opened {
  readonly storage: LogPersistenceStorageProvider;
  /** Returns the number of statements or transactions that wrote so far. */
  readonly writes: () => number;
  /** Fails each write from the given one on, as if the process was killed before it. Counts from now. */
  readonly failFrom: (write: number) => void;
  /** Carries out the next write and reports it as failed. */
  readonly loseAnswer: () => void;
}

/** A database that counts its transactions. */
class CountedDatabase extends AnswerLosingDatabase {
  writes = 0;
  left = Infinity;

  override exec(sql: string): unknown {
    if (sql.startsWith("BEGIN")) {
      this.writes++;
      if (this.left-- <= 0) throw new Error("killed");
    }
    return super.exec(sql);
  }
}

/** A client that counts its statements. */
class CountedClient extends WatchedClient {
  left = Infinity;

  override async query(...given: Parameters<WatchedClient["query"]>): ReturnType<WatchedClient["query"]> {
    if (this.left-- <= 0) throw Object.assign(new Error("killed"), { code: "XX000" });
    return super.query(...given);
  }
}

const databases: Readonly<Record<string, () => Promise<Opened>>> = {
  async SQLite() {
    const database = new CountedDatabase(libsql(join(await testDirectory(), "agents.db")) as SqliteDatabase);
    const storage = new SqlitePersistenceStorageProvider({ database });
    await collect(storage.log.list());
    return {
      storage,
      writes: () => database.writes,
      failFrom: (write) => void (database.left = write),
      loseAnswer: () => void (database.losesAnswer = true),
    };
  },
  async Postgres() {
    const client = new CountedClient(await pool());
    const storage = new PostgresPersistenceStorageProvider({ client, schema: newSchema() });
    await collect(storage.log.list());
    return {
      storage,
      writes: () => client.texts.length,
      failFrom: (write) => void (client.left = write),
      loseAnswer: () => void (client.losesAnswer = true),
    };
  },
};

const clock = () => new SimulatedClock(Date.UTC(2026, 0, 1));

function tasksNamed(count: number, more: (n: number) => Partial<NewTask> = () => ({})): NewTask[] {
  return Array.from({ length: count }, (_, n) => ({ taskName: "t", inputRequest: n, ...more(n) }));
}

const once = (n: number) => ({ deduplicationId: `once ${n}` });

describe.each(Object.entries(databases))("createMany in %s", (_name, open) => {
  it("creates 1,000 tasks in ten writes", async () => {
    const { storage, writes } = await open();
    const tasks = new TaskManager({ storage, clock: clock() });
    const before = writes();
    const created = await tasks.createMany(tasksNamed(1_000));
    expect(writes() - before).toBe(10);
    expect(created.map(({ inputRequest }) => inputRequest)).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect((await collect(tasks.list({ status: "queued" }))).length).toBe(1_000);
  });

  it("creates the same tasks, logs and events as create does", async () => {
    const given = tasksNamed(3, (n) => ({ taskId: `t${n}`, priority: n, queue: "q", key: `k${n}`, retries: n }));
    const resultOf = async (create: (tasks: TaskManager) => Promise<unknown>) => {
      const { storage } = await open();
      const events: PersistenceEvent[] = [];
      const tasks = new TaskManager({ storage, clock: clock(), onEvent: (event) => void events.push(event) });
      const created = await create(tasks);
      const logs = await Promise.all(given.map(({ taskId = "" }) => collect(storage.log.read(taskId))));
      const listed = await collect(storage.log.list());
      return JSON.stringify({ created, events, logs, listed }).replaceAll(/"(run|runId|prev|checksum)":"[^"]*"/g, "");
    };
    const single = await resultOf(async (tasks) => {
      const created: unknown[] = [];
      for (const task of given) created.push(await tasks.create(task));
      return created;
    });
    expect(await resultOf((tasks) => tasks.createMany(given))).toBe(single);
  });

  it("rejects only the task whose creation is unknown", async () => {
    const { log } = (await open()).storage;
    const lost = new Error("the response was lost");
    const createMany: RecordLog["createMany"] = async (agents) =>
      ((await log.createMany?.(agents)) ?? []).map((isCreated, at) =>
        agents[at]?.agentId === "t0" ? lost : isCreated,
      );
    const storage = new LogPersistenceStorageProvider(delegatingLog(log, { createMany }));
    const tasks = new TaskManager({ storage });
    const created = tasksNamed(2, (n) => ({ taskId: `t${n}` })).map((task) => tasks.create(task));
    expect(await Promise.allSettled(created)).toMatchObject([
      { status: "rejected", reason: lost },
      { status: "fulfilled", value: { status: "queued" } },
    ]);
  });

  it("rejects an id that exists, has an owner or is given twice, and creates the others", async () => {
    const { storage } = await open();
    const tasks = new TaskManager({ storage });
    await tasks.create({ taskName: "t", taskId: "stored", inputRequest: "first" });
    const ids = ["a", "stored", "b"];
    const given = tasksNamed(3, (n) => ({ taskId: ids[n] }));
    await expect(tasks.createMany(given)).rejects.toMatchObject({ code: "task_exists", agentId: "stored" });
    expect((await tasks.get("stored"))?.inputRequest).toBe("first");
    expect((await collect(tasks.list())).map(({ taskId }) => taskId).toSorted()).toEqual(["a", "b", "stored"]);
    await expect(tasks.createMany(tasksNamed(2, () => ({ taskId: "twice" })))).rejects.toMatchObject({
      code: "task_exists",
    });
    expect((await tasks.get("twice"))?.inputRequest).toBe(0);
    const owner = await storage.log.open("busy", processOwner());
    const creating = tasks.createMany([{ taskName: "t", taskId: "busy", inputRequest: 1 }]);
    await owner.release();
    expect(await creating).toMatchObject([{ taskId: "busy", status: "queued" }]);
  });

  it("returns the existing task of a duplicate, also in the same call and with large inputs", async () => {
    const { storage } = await open();
    const tasks = new TaskManager({ storage });
    const large = "x".repeat(20_000);
    const given = [
      ...tasksNamed(3, once),
      { taskName: "t", inputRequest: "again", ...once(1) },
      { taskName: "t", inputRequest: large, ...once(3) },
      { taskName: "t", inputRequest: "in a window", deduplicationId: "w", deduplicationWindowMs: 1_000 },
    ];
    const created = await tasks.createMany(given);
    expect(created.map(({ inputRequest }) => inputRequest)).toEqual([0, 1, 2, 1, large, "in a window"]);
    expect((await tasks.createMany(given.slice(0, 3))).map(({ taskId }) => taskId)).toEqual(
      created.slice(0, 3).map(({ taskId }) => taskId),
    );
    expect(await collect(tasks.list())).toHaveLength(5);
  });

  it.each([0, 1, 2])("finishes after a crash before write %i, with equal ids", async (write) => {
    const { storage, failFrom } = await open();
    const tasks = new TaskManager({ storage });
    failFrom(write);
    await expect(tasks.createMany(tasksNamed(250, once))).rejects.toMatchObject({ code: "storage_failed" });
    failFrom(Infinity);
    expect(await collect(tasks.list())).toHaveLength(100 * write);
    const created = await tasks.createMany(tasksNamed(250, once));
    expect(new Set(created.map(({ taskId }) => taskId)).size).toBe(250);
    expect(await collect(tasks.list())).toHaveLength(250);
  });

  it("finds out that tasks are stored if the response was lost", async () => {
    const { storage, loseAnswer } = await open();
    const tasks = new TaskManager({ storage });
    loseAnswer();
    expect(await tasks.createMany(tasksNamed(20))).toHaveLength(20);
    expect(await collect(tasks.list())).toHaveLength(20);
  });
});

it("creates tasks one by one in a storage without createMany", async () => {
  const opened: string[] = [];
  const { log } = new InMemoryPersistenceStorageProvider();
  const wrapped = delegatingLog(log, {
    open: (agentId, owner) => {
      opened.push(agentId);
      return log.open(agentId, owner);
    },
  });
  const tasks = new TaskManager({ storage: new LogPersistenceStorageProvider(wrapped) });
  await tasks.createMany(tasksNamed(10));
  expect(opened).toHaveLength(10);
});

describe.each(Object.entries(openBooks))("createMany in an encrypted storage %s", (_name, open) => {
  it("stores no plain text", async () => {
    const { storage, bytes } = await open();
    const keys = { current: "k", get: () => new Uint8Array(32).fill(7) };
    const tasks = new TaskManager({ storage: encrypted(storage, { keys }) });
    const ids = ["t0", "t1", "t2"];
    await tasks.createMany(tasksNamed(3, (n) => ({ taskId: ids[n], inputRequest: `secret ${n}` })));
    expect((await bytes()).includes("secret")).toBe(false);
    const found = await Promise.all(ids.map((taskId) => tasks.get(taskId)));
    expect(found.map((task) => task?.inputRequest)).toEqual(["secret 0", "secret 1", "secret 2"]);
  });
});
