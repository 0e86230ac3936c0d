import type { DynamoDBClient } from "agent-persistence/dynamodb";
import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { processOwner, type RecordLog } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";

const now = "2026-01-02T00:00:00.000Z";
const [early, later, never] = ["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", undefined];
const due = { status: ["waiting", "failed"], dueBefore: now } as const;

/** A process on a table, and how many items it reads. */
function processOn(database: FakeDynamoDB) {
  let read = 0;
  const counting: Pick<DynamoDBClient, "query" | "batchGetItem" | "getItem"> = {
    // A filter does not reduce the items that are read and billed.
    query: async (input) => {
      const { FilterExpression: _filter, ...request } = input as { readonly FilterExpression?: string };
      const { Items = [] } = await database.query(request);
      read += Items.length;
      return database.query(input);
    },
    batchGetItem: async (input) => {
      const answer = await database.batchGetItem(input);
      read += Object.values(answer.Responses ?? {}).flat().length;
      return answer;
    },
    getItem: (input) => {
      read++;
      return database.getItem(input);
    },
  };
  const client: DynamoDBClient = Object.assign(Object.create(database), counting);
  const { log } = new DynamoDBPersistenceStorageProvider({ client, tableName: "agents" });
  const itemsOf = async (action: () => Promise<unknown>) => {
    const before = read;
    await action();
    return read - before;
  };
  return { log, itemsOf };
}

async function save(log: RecordLog, agentId: string, dueAt: string | undefined, status = "waiting"): Promise<void> {
  const owned = await log.open(agentId, processOwner());
  const { dueAt: _dueAt, ...summary } = exampleSummary(agentId, status, { order: agentId });
  await appendText(owned, "x", { summary: { ...summary, ...(dueAt && { dueAt }) } });
  await owned.release();
}

const idsOf = async (log: RecordLog) => (await collect(log.list(due))).map(({ agentId }) => agentId);

describe("a list of due agents in DynamoDB", () => {
  it("reads as many items among 500 sleeping agents as among 10", async () => {
    const counts: number[] = [];
    for (const sleeping of [10, 500]) {
      const database = new FakeDynamoDB();
      const { log } = processOn(database);
      for (let n = 0; n < sleeping; n++) await save(log, `sleeping ${n}`, n % 2 ? later : never);
      await save(log, "b", early);
      await save(log, "a", early, "failed");
      const worker = processOn(database);
      counts.push(await worker.itemsOf(async () => expect(await idsOf(worker.log)).toEqual(["a", "b"])));
    }
    expect(counts[1]).toBe(counts[0]);
    expect(counts[0]).toBeLessThan(12);
  });

  it("follows each change of a due time, and lists an agent once", async () => {
    const database = new FakeDynamoDB();
    const { log } = processOn(database);
    await save(log, "a", later);
    expect(await idsOf(log)).toEqual([]);
    await save(log, "a", early);
    await save(log, "a", "2026-01-01T12:00:00.000Z");
    expect(await idsOf(log)).toEqual(["a"]);
    await save(log, "a", early, "failed");
    expect(await idsOf(log)).toEqual(["a"]);
    await save(log, "a", early, "running");
    expect(await idsOf(log)).toEqual([]);
    await save(log, "a", early);
    const owned = await log.open("a", processOwner());
    await owned.drop();
    expect(await idsOf(log)).toEqual([]);
    const left = [...database.partitions].filter(([name]) => name.startsWith("due ")).map(([, { size }]) => size);
    expect(left).toEqual([1, 1, 1]);
  });

  it("lists pages in order", async () => {
    const { log } = processOn(new FakeDynamoDB());
    const ids = Array.from({ length: 130 }, (_, n) => `a${100 + n}`);
    for (const [n, id] of ids.entries())
      await save(log, id, new Date(Date.parse(early) + ((n * 7) % 130)).toISOString());
    expect(await idsOf(log)).toEqual(ids);
    const after = (await collect(log.list({ ...due, limit: 60 }))).at(-1)?.order;
    expect((await collect(log.list({ ...due, after: String(after) }))).map(({ agentId }) => agentId)).toEqual(
      ids.slice(60),
    );
  });

  it("finds the agents of a table that an earlier version wrote, and adds them at the next write", async () => {
    const database = new FakeDynamoDB();
    const { log } = processOn(database);
    for (let n = 0; n < 20; n++) await save(log, `a${10 + n}`, n < 3 ? early : later);
    // Earlier versions did not write these lists.
    for (const name of database.partitions.keys()) if (name.startsWith("due ")) database.partitions.delete(name);
    const worker = processOn(database);
    expect(await idsOf(worker.log)).toEqual(["a10", "a11", "a12"]);
    expect([...database.partitions.keys()].some((name) => name.startsWith("due "))).toBe(false);
    await save(worker.log, "new", later);
    const items = await worker.itemsOf(async () => expect(await idsOf(worker.log)).toEqual(["a10", "a11", "a12"]));
    expect(items).toBeLessThan(12);
  });
});
