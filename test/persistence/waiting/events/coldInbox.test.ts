import { type AgentContext, persistence } from "agent-persistence";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { valueDigest } from "../../../../src/checkpoint/values/isSameValue.ts";
import { inboxShape } from "../../../../src/journal/inbox/InboxState.ts";
import { ShapedLog } from "../../../../src/journal/shape/ShapedLog.ts";
import { Inbox } from "../../../../src/journal/inbox/Inbox.ts";
import { delegatingLog } from "../../../testing/delegatingLog.ts";
import { asking } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { eventStorages } from "./eventStorages.ts";

const schema = z.string();
const quick = { sleepInProcessMs: 0 };
const receive = asking(async (_input, context: AgentContext) => context.receive("paid", { schema }));
const at = Date.UTC(2026, 0, 1);

/** The events that a part of an inbox restates, and a text that makes each event as large as a small webhook. */
const [restated, text] = [32, "x".repeat(300)];

/** Stores events that requests have received, ten pairs in each append. */
async function consume(storage: LogPersistenceStorageProvider, count: number, from = 0): Promise<void> {
  const sha256 = await storage.sha256();
  await using log = await ShapedLog.open(inboxShape, { storage, id: "a" });
  for (let number = from; number < from + count; number++) {
    const [name, payload] = ["paid", `${number} ${text}`];
    const key = { key: `k${number}`, digest: valueDigest([name, payload], sha256) };
    const event = log.state.size;
    log.append([
      { kind: "event", name, at, payload: log.value(payload, "a payload"), ...key },
      { kind: "take", request: `r${number}`, event },
    ]);
    if (number % 10 === 9) await log.durable();
  }
}

/** A storage as another process sees it, with the number of records that were read from the inbox. */
function counted(storage: LogPersistenceStorageProvider) {
  let records = 0;
  const { log } = storage;
  const changes: Partial<RecordLog> = {
    async *read(agentId, options) {
      for await (const entry of log.read(agentId, options)) {
        if (agentId.startsWith("inbox:")) records += entry.records.length;
        yield entry;
      }
    },
  };
  return { storage: new LogPersistenceStorageProvider(delegatingLog(log, changes)), read: () => records };
}

describe.each(eventStorages)("$name: an inbox that a process does not know", (storages) => {
  it("reads as much after 3,000 received events as after 1,000", async () => {
    const counts: number[] = [];
    for (const received of [1_000, 3_000]) {
      const opened = await storages.open();
      await consume(opened(), received);
      const { storage, read } = counted(opened());
      expect(await durableAgent(receive, storage, quick).run("go", { agentId: "a" })).toMatchObject({
        status: "waiting",
      });
      await Inbox.of(opened()).send("a", { name: "paid", payload: "last", at });
      const other = counted(opened());
      const resumed = await durableAgent(receive, other.storage, quick).resume({ agentId: "a" });
      expect(resumed).toMatchObject({ status: "completed", output: "last" });
      counts.push(read(), other.read());
    }
    for (const count of counts) expect(count).toBeLessThan(600);
  });
});

describe("an inbox with a restated part", () => {
  const open = async () => (await (eventStorages[0] as (typeof eventStorages)[number]).open())();
  const another = (storage: LogPersistenceStorageProvider) => Inbox.of(counted(storage).storage);

  it("gives a request the event that it received before, however long ago", async () => {
    const storage = await open();
    await consume(storage, 1_000);
    for (const n of [0, 1, 500, 999 - restated, 999])
      expect(await another(storage).take("a", { request: `r${n}`, event: "paid", receipts: n })).toEqual({
        event: n,
        payload: `${n} ${text}`,
      });
    expect(await another(storage).take("a", { request: "r3", event: "paid" })).toMatchObject({ event: 3 });
  });

  it("gives an old request that has received no event the next one", async () => {
    const storage = await open();
    await consume(storage, 1_000);
    const asked = { request: "old", event: "paid", receipts: 5 };
    expect(await another(storage).take("a", asked)).toBeUndefined();
    await another(storage).send("a", { name: "paid", payload: "new", at });
    expect(await another(storage).continues("a", async () => [asked])).toBe(true);
    expect(await another(storage).take("a", asked)).toEqual({ event: 1_000, payload: "new" });
    expect(await another(storage).take("a", { ...asked, receipts: 0 })).toEqual({ event: 1_000, payload: "new" });
    expect(await another(storage).continues("a", async () => [{ request: "other", event: "paid" }])).toBe(false);
  });

  it("keeps unreceived events and their order", async () => {
    const storage = await open();
    for (const name of ["early", "other"]) await another(storage).send("a", { name, payload: name, at });
    await consume(storage, 500);
    await another(storage).send("a", { name: "early", payload: "second", at });
    await consume(storage, 500, 500);
    const take = (request: string, event: string) => another(storage).take("a", { request, event, receipts: 1_000 });
    expect(await take("n1", "early")).toEqual({ event: 0, payload: "early" });
    expect(await take("n2", "early")).toMatchObject({ payload: "second" });
    expect(await take("n3", "other")).toEqual({ event: 1, payload: "other" });
  });

  it("knows each key and rejects another event with it", async () => {
    const storage = await open();
    await consume(storage, 1_000);
    await another(storage).send("a", { name: "paid", payload: `7 ${text}`, at, key: "k7" });
    const request = { request: "new", event: "paid", receipts: 1_000 };
    expect(await another(storage).take("a", request)).toBeUndefined();
    await expect(another(storage).send("a", { name: "paid", payload: "else", at, key: "k8" })).rejects.toMatchObject({
      code: "event_key_used",
    });
  });

  it("gives old events back after a rollback, and takes them again after a redo", async () => {
    const storage = await open();
    await consume(storage, 1_000);
    // This process knows a part of the inbox.
    const known = another(storage);
    expect(await known.take("a", { request: "new", event: "paid", receipts: 1_000 })).toBeUndefined();
    await another(storage).rollBack("a", ["r3", "r4"], []);
    expect(await known.take("a", { request: "n3", event: "paid", receipts: 1_000 })).toMatchObject({ event: 3 });
    expect(await known.take("a", { request: "r999", event: "paid", receipts: 999 })).toMatchObject({ event: 999 });
    await another(storage).rollBack("a", [], ["r3", "r4"]);
    expect(await another(storage).take("a", { request: "r4", event: "paid", receipts: 4 })).toMatchObject({ event: 4 });
    await consume(storage, 500, 1_000);
    expect(await another(storage).take("a", { request: "r3", event: "paid", receipts: 3 })).toBeUndefined();
    expect(await known.take("a", { request: "n3", event: "paid", receipts: 1_000 })).toMatchObject({ event: 3 });
  });

  it("counts the records of requests", async () => {
    const storage = await open();
    await consume(storage, 3);
    const agent = durableAgent(receive, storage, quick);
    await agent.run("go", { agentId: "a" });
    const records = [];
    for await (const entry of storage.log.read("a")) records.push(...entry.records);
    expect(records.find(({ kind }) => kind === "request")).toMatchObject({ event: "paid", receipts: 3 });
    expect(await persistence(agent).agent("a").getRequests()).toHaveLength(1);
  });
});
