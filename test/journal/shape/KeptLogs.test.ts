import { describe, expect, it, onTestFinished } from "vitest";
import type { LogPersistenceStorageProvider, OwnedLog } from "agent-persistence/storage";
import { KeptLogs } from "../../../src/journal/shape/KeptLogs.ts";
import { readShape } from "../../../src/journal/shape/readShape.ts";
import { TableRecordLog } from "../../../src/storage/table/TableRecordLog.ts";
import { LogPersistenceStorageProvider as Provider } from "../../../src/storage/LogPersistenceStorageProvider.ts";
import { logStorages, memory, type TestStorage } from "../../persistence/support/storages.ts";
import { MemoryTable } from "../../storage/table/MemoryTable.ts";
import { TestClock } from "../../storage/file/support/TestClock.ts";
import { listShapeOf } from "./listOfTexts.ts";

const shape = listShapeOf("session");

const table: TestStorage<LogPersistenceStorageProvider> = {
  name: "table",
  async open() {
    const rows = new MemoryTable();
    return () => new Provider(new TableRecordLog(rows));
  },
};

/** Waits for another owner less long than until that one renews its lease. */
function keep(storage: LogPersistenceStorageProvider, options: object = {}) {
  const logs = new KeptLogs(shape, { storage, waitMs: 4_000, ...options });
  onTestFinished(() => logs[Symbol.asyncDispose]());
  return logs;
}

const add = (logs: ReturnType<typeof keep>, name: string, id = "a") =>
  logs.use(id, (log) => log.store([{ kind: "add", number: log.state.items.size, name, value: null }]));

const namesIn = async (storage: LogPersistenceStorageProvider, id = "a") =>
  (await readShape(shape, { log: storage.log, id })).state.names;

describe.each([...logStorages, table])("logs that are kept open, in the storage $name", ({ open }) => {
  it("move between owners that request them, without losing records", async () => {
    const opened = await open();
    const [one, other] = [keep(opened()), keep(opened())];
    for (const number of [0, 1, 2]) {
      await add(one, `one ${number}`);
      await add(other, `other ${number}`);
    }
    expect(await namesIn(opened())).toEqual(["one 0", "other 0", "one 1", "other 1", "one 2", "other 2"]);
  });

  it("stay open while they are used or held", async () => {
    const opened = await open();
    const [one, other] = [keep(opened()), keep(opened())];
    const held = await one.hold("a");
    const waiting = add(other, "other");
    for (const number of [0, 1, 2]) await add(one, `one ${number}`);
    const owner = await opened().log.owner("session:a");
    expect(owner?.generation).toBe(one.opened("a")?.generation);
    await held[Symbol.asyncDispose]();
    await waiting;
    expect(await namesIn(opened())).toEqual(["one 0", "one 1", "one 2", "other"]);
    await expect(keep(opened(), { waitMs: 0 }).use("a", async () => 1)).rejects.toMatchObject({ code: "agent_busy" });
  });
});

describe("logs that are kept open", () => {
  it("are released if they are closed while one of them is being opened", async () => {
    const storage = (await memory.open())?.() as LogPersistenceStorageProvider;
    const logs = keep(storage);
    const adding = add(logs, "first");
    await logs[Symbol.asyncDispose]();
    await adding;
    expect(await namesIn(storage)).toEqual(["first"]);
    expect(await storage.log.owner("session:a")).toBeUndefined();
  });

  it("share one log among all users, with one append per turn", async () => {
    const opened = await memory.open();
    const storage = opened?.() as LogPersistenceStorageProvider;
    const logs = keep(storage);
    expect(logs.opened("a")).toBeUndefined();
    await add(logs, "first");
    const log = logs.opened("a");
    const before = log?.position ?? 0;
    const used = await Promise.all(
      ["x", "y", "z"].map((name) =>
        logs.use("a", async (each) => {
          each.append([{ kind: "add", number: each.state.items.size, name, value: null }]);
          await each.durable();
          return each;
        }),
      ),
    );
    expect(new Set(used)).toEqual(new Set([log]));
    expect(log?.position).toBe(before + 1);
  });

  it("are released if they are unused for some time", async () => {
    const opened = await memory.open();
    const storage = opened?.() as LogPersistenceStorageProvider;
    const clock = new TestClock();
    const logs = keep(storage, { clock, idleMs: 1_000 });
    await add(logs, "first");
    const look = async () => {
      clock.advance(75);
      await logs.opened("a")?.checkStop();
    };
    for (let at = 0; at < 900; at += 75) await look();
    expect(await storage.log.owner("session:a")).toMatchObject({ state: "alive" });
    await add(logs, "second");
    for (let at = 0; at < 900; at += 75) await look();
    expect(await storage.log.owner("session:a")).toMatchObject({ state: "alive" });
    for (let at = 0; at < 300; at += 75) await look();
    expect(logs.opened("a")).toBeUndefined();
    await logs[Symbol.asyncDispose]();
    expect(await storage.log.owner("session:a")).toBeUndefined();
    expect(await namesIn(storage)).toEqual(["first", "second"]);
  });

  it("stay open during a use that begins after a slow check for other owners", async () => {
    const [clock, rows] = [new TestClock(), new MemoryTable()];
    const slow: { check?: Promise<void> } = {};
    class SlowLog extends TableRecordLog {
      override async open(...given: Parameters<TableRecordLog["open"]>): Promise<OwnedLog> {
        const owned = await super.open(...given);
        owned.checkStop = async () => slow.check;
        return owned;
      }
    }
    const storage = new Provider(new SlowLog(rows));
    const logs = keep(storage, { clock, idleMs: 1_000 });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await add(logs, "first");
    let endCheck = () => {};
    slow.check = new Promise<void>((resolve) => (endCheck = resolve));
    clock.advance(75);
    await turn();
    await add(logs, "second");
    endCheck();
    for (let at = 0; at < 975; at += 75) {
      await turn();
      clock.advance(75);
    }
    await turn();
    await logs.use("a", async (log) => {
      clock.advance(150);
      await turn();
      expect(await storage.log.owner("session:a")).toMatchObject({ state: "alive" });
      await log.store([{ kind: "add", number: log.state.items.size, name: "third", value: null }]);
    });
    expect(await namesIn(storage)).toEqual(["first", "second", "third"]);
  });

  it.each([8, 200])("are checked for other owners at most 200 times in a second if %i are idle", async (count) => {
    const clock = new TestClock();
    let checks = 0;
    class CountingLog extends TableRecordLog {
      override async open(...given: Parameters<TableRecordLog["open"]>): Promise<OwnedLog> {
        const owned = await super.open(...given);
        owned.checkStop = async () => void checks++;
        return owned;
      }
    }
    const logs = keep(new Provider(new CountingLog(new MemoryTable())), { clock });
    for (let at = 0; at < count; at++) await add(logs, "first", `a${at}`);
    const before = checks;
    for (let at = 0; at < 3_000; at += 25) {
      clock.advance(25);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((checks - before) / 3).toBeLessThanOrEqual(200);
    expect(checks - before).toBeGreaterThanOrEqual(2 * count);
  });

  it("are opened again after a failed append, whose caller gets the error", async () => {
    const rows = new MemoryTable();
    const storage = new Provider(new TableRecordLog(rows, { retryMs: 0 }));
    const logs = keep(storage);
    const held = await logs.hold("a");
    await add(logs, "first");
    rows.onCall = (method) => {
      if (method !== "append") return;
      rows.onCall = () => {};
      throw new Error("the connection broke");
    };
    await expect(add(logs, "lost")).rejects.toMatchObject({ reason: "unavailable" });
    expect(logs.opened("a")).toBeUndefined();
    await add(logs, "second");
    await held[Symbol.asyncDispose]();
    expect(await namesIn(storage)).toEqual(["first", "second"]);
  });

  it("are opened again after a deletion", async () => {
    const opened = await memory.open();
    const storage = opened?.() as LogPersistenceStorageProvider;
    const logs = keep(storage);
    await add(logs, "first");
    await logs.use("a", (log) => log.drop());
    expect(await namesIn(storage)).toEqual([]);
    await add(logs, "second");
    expect(await namesIn(storage)).toEqual(["second"]);
  });
});
