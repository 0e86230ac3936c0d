import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import type { OwnedLog } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/log/logTest.ts";
import { anyProcess } from "../../testing/log/anyProcess.ts";
import { FakeDynamoDB } from "./FakeDynamoDB.ts";
import { isWrite, WatchedDynamoDB } from "./WatchedDynamoDB.ts";

const leaseMs = 15_000;

function processOn(database: FakeDynamoDB) {
  const [client, clock] = [new WatchedDynamoDB(database), new SimulatedClock()];
  const options = { client, tableName: "agents", clock, leaseMs, processIdentity: anyProcess };
  return { client, clock, log: new DynamoDBPersistenceStorageProvider(options).log };
}

/** Ends a process after so many writes of an action. True: the action ended before. */
async function stopped(client: WatchedDynamoDB, after: number, action: () => Promise<unknown>): Promise<boolean> {
  let writes = 0;
  const end = new Promise<false>((resolve) => {
    client.onRequest = (method) => {
      if (!isWrite(method) || writes++ < after) return;
      resolve(false);
      return new Promise(() => {});
    };
  });
  return Promise.race([end, action().then(() => true)]);
}

/** The agent, once the owner before was silent for a lease. */
async function replaced({ log, clock }: ReturnType<typeof processOn>): Promise<OwnedLog> {
  await expect(log.open("a", { host: "h", processId: 1, nonce: "next" })).rejects.toMatchObject({ code: "agent_busy" });
  clock.advance(leaseMs);
  return log.open("a", { host: "h", processId: 1, nonce: "next" });
}

async function begun(database: FakeDynamoDB) {
  const process = processOn(database);
  const owned = await process.log.open("a", { host: "h", processId: 1, nonce: "first" });
  await appendText(owned, "one", { summary: exampleSummary("a", "running") });
  await appendText(owned, "x".repeat(500_000));
  await process.log.blobs.put("a", owned.generation, new Uint8Array(500_000));
  return { ...process, owned };
}

describe("a process that stops", () => {
  it("after any write of a drop leaves the agent as it was or without anything, and the next owner has it", async () => {
    const ends = new Set<number>();
    for (let after = 0; ; after++) {
      const database = new FakeDynamoDB();
      const { client, owned } = await begun(database);
      if (await stopped(client, after, () => owned.drop())) break;
      const next = processOn(database);
      const before = (await collect(next.log.read("a"))).length;
      const owner = await replaced(next);
      expect(await collect(next.log.read("a"))).toHaveLength(before);
      expect(await collect(next.log.list())).toHaveLength(before === 0 ? 0 : 1);
      await appendText(owner, "next", { summary: exampleSummary("a", "completed") });
      expect((await collect(next.log.list())).map(({ status }) => status)).toEqual(["completed"]);
      ends.add(before);
    }
    expect(ends).toEqual(new Set([0, 2]));
  });

  it("after any write of a change of the status leaves the status of the last append", async () => {
    const ends = new Set<string>();
    for (let after = 0, ended = false; !ended; after++) {
      const database = new FakeDynamoDB();
      const { client, owned } = await begun(database);
      ended = await stopped(client, after, () => appendText(owned, "two", { summary: exampleSummary("a", "waiting") }));
      const next = processOn(database);
      const status = (await collect(next.log.read("a"))).length === 3 ? "waiting" : "running";
      expect((await collect(next.log.list())).map((agent) => agent.status)).toEqual([status]);
      expect(await collect(next.log.list({ status }))).toHaveLength(1);
      expect(await collect(next.log.list({ status: status === "waiting" ? "running" : "waiting" }))).toEqual([]);
      ends.add(status);
    }
    expect(ends).toEqual(new Set(["running", "waiting"]));
  });
});
