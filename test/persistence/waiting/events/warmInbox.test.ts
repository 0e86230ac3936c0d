import type { AgentContext } from "agent-persistence";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Inbox } from "../../../../src/journal/inbox/Inbox.ts";
import { delegatingLog } from "../../../testing/delegatingLog.ts";
import { asking } from "../../support/asking.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { eventStorages } from "./eventStorages.ts";

const receive = asking(async (_input, context: AgentContext) =>
  String(await context.receive("paid", { schema: z.number() })),
);
const at = Date.UTC(2026, 0, 1);

/** A storage that counts the appends that were read from inboxes. */
function counted(storage: LogPersistenceStorageProvider) {
  let appends = 0;
  const { log } = storage;
  const changes: Partial<RecordLog> = {
    async *read(agentId, options) {
      for await (const entry of log.read(agentId, options)) {
        if (agentId.startsWith("inbox:")) appends++;
        yield entry;
      }
    },
  };
  const read = async (work: () => Promise<unknown>): Promise<number> => {
    const before = appends;
    await work();
    return appends - before;
  };
  return { storage: new LogPersistenceStorageProvider(delegatingLog(log, changes)), read };
}

const keyed = (n: number) => ({ name: "paid", payload: n, key: `k${n}`, at });

describe.each(eventStorages)("$name: an inbox that a process knows", (storages) => {
  it("is read from the last known append by each send with a key", async () => {
    const { storage, read } = counted((await storages.open())());
    const inbox = Inbox.of(storage);
    const sent: number[] = [];
    for (let n = 0; n < 40; n++) sent.push(await read(() => inbox.send("a", keyed(n))));
    expect(Math.max(...sent)).toBeLessThanOrEqual(3);
    expect(await read(() => inbox.send("a", keyed(3)))).toBeLessThanOrEqual(3);
    await expect(inbox.send("a", { ...keyed(3), payload: "else" })).rejects.toMatchObject({ code: "event_key_used" });
  });

  it("is read from the last known append by each receipt", async () => {
    const { storage, read } = counted((await storages.open())());
    const agent = durableAgent(receive, storage, { sleepInProcessMs: 0 });
    const both: number[] = [];
    for (let n = 0; n < 15; n++) {
      await Inbox.of(storage).send("a", keyed(n));
      both.push(await read(() => agent.run("go", { agentId: "a", runId: `r${n}` })));
    }
    expect(Math.max(...both)).toBeLessThanOrEqual(Math.min(...both) + 4);
    expect(await agent.run("go", { agentId: "a", runId: "r7" })).toMatchObject({ output: "7" });
  });

  it("includes the events of other processes", async () => {
    const opened = await storages.open();
    const [one, other] = [counted(opened()), counted(opened())];
    const [mine, theirs] = [Inbox.of(one.storage), Inbox.of(other.storage)];
    for (let n = 0; n < 20; n += 2) {
      await mine.send("a", keyed(n));
      await theirs.send("a", keyed(n + 1));
    }
    await mine.send("a", keyed(19));
    await theirs.send("a", keyed(18));
    expect(await one.read(() => mine.send("a", keyed(20)))).toBeLessThanOrEqual(6);
    const events = [];
    for (let n = 0; n < 22; n++) events.push(await theirs.take("a", { request: `r${n}`, event: "paid" }));
    expect(events.map((event) => event?.payload)).toEqual([...Array(21).keys(), undefined]);
  });

  it("is read anew if another inbox replaced it", async () => {
    const opened = await storages.open();
    const [mine, theirs] = [Inbox.of(counted(opened()).storage), Inbox.of(counted(opened()).storage)];
    for (let n = 0; n < 5; n++) await mine.send("a", keyed(n));
    await theirs.drop("a");
    await theirs.send("a", { ...keyed(3), payload: "new" });
    await expect(mine.send("a", keyed(3))).rejects.toMatchObject({ code: "event_key_used" });
    await mine.send("a", keyed(4));
    const payloads = [];
    for (let n = 0; n < 3; n++) payloads.push((await mine.take("a", { request: `r${n}`, event: "paid" }))?.payload);
    expect(payloads).toEqual(["new", 4, undefined]);
  });
});
