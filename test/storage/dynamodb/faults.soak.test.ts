import { DynamoDBPersistenceStorageProvider, type DynamoDBClient } from "agent-persistence/dynamodb";
import { type OwnedLog, type ProcessIdentity, processOwner, type RecordLog } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { opened, processOn, settled, stopped, takenOver } from "./processOn.ts";
import { isWrite, type SentRequest } from "./support/WatchedDynamoDB.ts";
import { cases } from "../../soak/cases.ts";

const [rounds, appends] = [cases(20, 200), cases(500, 10_000)];

const throttled = (): Error => Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" });

async function positions(log: RecordLog): Promise<number[]> {
  return (await collect(log.read("a"))).map(({ position }) => position);
}

describe("throttling", () => {
  it("delays an append that changes the status, at any of its requests", async () => {
    for (let at = 0, wasLast = false; !wasLast; at++) {
      const process = processOn(new FakeDynamoDB());
      const owned = await opened(process);
      await appendText(owned, "1", { summary: exampleSummary("a", "queued") });
      let [requests, refusals] = [0, 6];
      process.client.onRequest = () => {
        if (requests++ >= at && refusals-- > 0) throw throttled();
      };
      const summary = exampleSummary("a", "waiting", { data: "x".repeat(400_000) });
      const append = appendText(owned, "x".repeat(400_000), { summary });
      expect(await settled(process, append)).toEqual({ status: "fulfilled", value: 2 });
      wasLast = refusals === 6;
      process.client.onRequest = () => {};
      expect(await positions(process.log)).toEqual([1, 2]);
      expect((await collect(process.log.list())).map(({ status }) => status)).toEqual(["waiting"]);
      expect(await collect(process.log.list({ status: "queued" }))).toEqual([]);
      expect(await appendText(owned, "3", { summary: exampleSummary("a", "completed") })).toBe(3);
    }
  });

  it("beyond `retryMs` fails the append with the error of the SDK as its cause", async () => {
    const database = new FakeDynamoDB();
    const process = processOn(database);
    const owned = await opened(process);
    const from = process.clock.monotonic();
    process.client.onRequest = () => {
      throw throttled();
    };
    expect(await settled(process, appendText(owned, "1"))).toMatchObject({
      reason: { code: "storage_failed", reason: "unavailable", cause: { name: "ThrottlingException" } },
    });
    expect(process.clock.monotonic() - from).toBeGreaterThanOrEqual(30_000);
    // This process knows that the owner has ended.
    expect((await opened(processOn(database))).position).toBe(0);
  });

  it.each([1, 5])(
    "of batches, of which the service processes %i items at a time, only delays them",
    async (batchSize) => {
      const database = new FakeDynamoDB();
      const process = processOn(database);
      const { log } = process;
      const owned = await opened(process);
      database.batchSize = batchSize;
      const [text, data] = ["x".repeat(4_500_000), "y".repeat(800_000)];
      const append = appendText(owned, text, { summary: exampleSummary("a", "queued", { data }) });
      expect(await settled(process, append)).toEqual({ status: "fulfilled", value: 1 });
      expect(await settled(process, collect(log.list()))).toMatchObject({ value: [{ agentId: "a", data }] });
      expect(JSON.stringify((await collect(log.read("a")))[0]?.records)).toContain(text);
      expect(await settled(process, owned.drop())).toMatchObject({ status: "fulfilled" });
      // The four items of a dropped agent, and the mark of a list of due times.
      expect(database.size).toBe(4 + 1);
    },
  );

  it("of batches that never ends fails the pending append", async () => {
    const database = new FakeDynamoDB();
    const process = processOn(database);
    const owned = await opened(process);
    database.batchSize = 0;
    expect(await settled(process, appendText(owned, "x".repeat(800_000)))).toMatchObject({
      reason: {
        code: "storage_failed",
        reason: "unavailable",
        cause: { message: expect.stringMatching(/not processed/) },
      },
    });
    expect(await collect(process.log.read("a"))).toEqual([]);
  });
});

describe("delayed duplicates of writes", () => {
  it("after a drop restore no data, one by one or all together", async () => {
    const database = new FakeDynamoDB();
    const process = processOn(database);
    const owned = await opened(process);
    for (const status of ["queued", "in_progress", "waiting"])
      await appendText(owned, status, { summary: exampleSummary("a", status) });
    await owned.drop();
    const writes = process.client.requests.filter(([method]) => isWrite(method));
    for (const write of writes) {
      await again(database, write);
      expect(await positions(process.log)).toEqual([]);
      expect(await collect(process.log.list())).toEqual([]);
      expect(await process.log.owner("a")).toBeUndefined();
    }
    const next = processOn(database);
    const owner = await opened(next);
    expect([owner.position, owner.generation]).toEqual([3, 2]);
    await appendText(owner, "new", { summary: exampleSummary("a", "queued") });
    for (const write of writes) await again(database, write);
    expect(await positions(next.log)).toEqual([4]);
    expect((await collect(next.log.list())).map(({ status, position }) => [status, position])).toEqual([["queued", 4]]);
    await appendText(owner, "newer", { summary: exampleSummary("a", "waiting") });
    expect((await collect(next.log.list())).map(({ status }) => status)).toEqual(["waiting"]);
  });

  it("after a takeover store no data", async () => {
    const database = new FakeDynamoDB();
    const process = processOn(database);
    const owned = await opened(process);
    await appendText(owned, "1", { summary: exampleSummary("a", "queued") });
    await appendText(owned, "2", { summary: exampleSummary("a", "waiting") });
    const writes = process.client.requests.filter(([method]) => isWrite(method));
    const next = processOn(database);
    const owner = await takenOver(next);
    for (const write of writes) await again(database, write);
    expect((await collect(next.log.list())).map(({ status }) => status)).toEqual(["waiting"]);
    expect(await appendText(owner, "3", { summary: exampleSummary("a", "completed") })).toBe(3);
    for (const write of writes) await again(database, write);
    expect(await positions(next.log)).toEqual([1, 2, 3]);
    expect((await collect(next.log.list())).map(({ status }) => status)).toEqual(["completed"]);
  });
});

it("a new owner that prunes first can change a status whose change the previous owner started but did not finish", async () => {
  const database = new FakeDynamoDB();
  const first = processOn(database);
  const owned = await opened(first);
  for (const text of ["1", "2", "3"]) await appendText(owned, text, { summary: exampleSummary("a", "queued") });
  const record = prunedRecord(await collect(first.log.read("a")), 2, 2);
  await owned.append({ id: "pruning", records: [record] }, 3);
  // Its two marks, and then no append.
  await stopped(first.client, 2, () => appendText(owned, "5", { summary: exampleSummary("a", "waiting") }));
  const next = processOn(database);
  const owner = await takenOver(next);
  await owner.prune();
  expect(await appendText(owner, "5", { summary: exampleSummary("a", "completed") })).toBe(5);
  expect((await collect(next.log.list())).map(({ status }) => status)).toEqual(["completed"]);
  expect(await positions(next.log)).toEqual([1, 3, 4, 5]);
});

it("a read returns the log before or after a pruning at any of its requests", async () => {
  for (let at = 0, wasLast = false; !wasLast; at++) {
    const database = new FakeDynamoDB();
    database.pageSize = 6;
    const owned = await opened(processOn(database));
    for (let n = 1; n <= 20; n++) await appendText(owned, String(n), { snapshot: n === 8 });
    const reader = processOn(database);
    const before = await collect(reader.log.read("a"));
    let requests = 0;
    reader.client.onRequest = async () => {
      if (requests++ !== at) return;
      await owned.append({ id: "pruning", records: [prunedRecord(before, 3, 17)] }, 20);
      await owned.prune();
    };
    const seen = await positions(reader.log);
    wasLast = requests <= at;
    const all = Array.from({ length: 20 }, (_, index) => index + 1);
    expect([all, [1, 2, 18, 19, 20, 21]]).toContainEqual(seen);
    if (!wasLast) expect(await positions(reader.log)).toEqual([1, 2, 18, 19, 20, 21]);
  }
});

it(`a stale writer stores no append after a concurrent takeover, in ${rounds} rounds`, async () => {
  const database = new FakeDynamoDB();
  // To each, the other is a process that has ended.
  const isRunning: ProcessIdentity["isRunning"] = () => false;
  const processIdentity = { ...anyProcess, processStart: "1", isRunning };
  const start = (client: DynamoDBClient) =>
    new DynamoDBPersistenceStorageProvider({ client, tableName: "agents", processIdentity }).log;
  const logs = [start(database), start(database)];
  const open = (log: RecordLog | undefined) => log?.open("a", { ...processOwner(), processId: 1 });
  const acknowledged: number[] = [];
  let [owned, lost] = [await open(logs[0]), 0];
  for (let round = 1; round <= rounds; round++) {
    const appending = appendUntil(owned as OwnedLog, 10, acknowledged);
    const next = await open(logs[round % 2]);
    const error = await appending;
    if (error !== undefined) {
      expect(error).toMatchObject({ code: "ownership_lost" });
      lost++;
    }
    expect(next?.position).toBe(acknowledged.at(-1) ?? 0);
    owned = next;
  }
  expect(lost).toBeGreaterThan(0);
  expect(acknowledged).toEqual(acknowledged.map((_, index) => index + 1));
  const entries = await collect(start(database).read("a"));
  expect(entries.map(({ position }) => position)).toEqual(acknowledged);
  const generations = entries.map(({ generation }) => generation);
  expect(generations).toEqual(generations.toSorted((one, other) => one - other));
  for (const log of logs) await log.close();
});

it(`reads back ${appends} appends of one agent in pages`, async () => {
  const database = new FakeDynamoDB();
  const process = processOn(database);
  const owned = await opened(process);
  for (let n = 1; n <= appends; n++) await appendText(owned, "x", { snapshot: n % 100 === 0 });
  const { log } = processOn(database);
  expect(await positions(log)).toEqual(Array.from({ length: appends }, (_, index) => index + 1));
  expect(await collect(log.read("a", { sinceSnapshot: true }))).toHaveLength(1);
  expect(await collect(log.read("a", { after: appends - 250 }))).toHaveLength(250);
});

/** Appends so many times, or until one fails; tells of each that was acknowledged. */
async function appendUntil(owned: OwnedLog, count: number, acknowledged: number[]): Promise<unknown> {
  try {
    for (let n = 0; n < count; n++) acknowledged.push(await appendText(owned, "x"));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** What a connection did that was slow, or that repeated a request. */
async function again(database: FakeDynamoDB, [method, input]: SentRequest): Promise<void> {
  await (database[method] as (input: object) => Promise<object>)(input).catch((error: unknown) => {
    expect(error).toMatchObject({ name: "ConditionalCheckFailedException" });
  });
}
