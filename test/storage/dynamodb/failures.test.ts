import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { processOwner } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { processOn } from "./processOn.ts";

it.each([
  ["ResourceNotFoundException", "io", "Create the table from dynamoDBTable()"],
  ["AccessDeniedException", "permission", "BatchWriteItem"],
  ["UnrecognizedClientException", "permission", "Give this process access"],
])("the error %s of the service has the reason %s and names the fix", async (name, reason, advice) => {
  const { client, log } = processOn(new FakeDynamoDB());
  client.onRequest = () => {
    throw Object.assign(new Error("refused"), { name });
  };
  const failed = log.owner("a");
  await expect(failed).rejects.toMatchObject({ code: "storage_failed", reason });
  await expect(failed).rejects.toThrow(advice);
});

it.each([
  [7, true],
  [1e300, false],
  [Infinity, false],
])("the remaining items of a dropped agent expire after %d days: %s", async (expireDroppedAfterDays, expires) => {
  const client = new FakeDynamoDB();
  const { log } = new DynamoDBPersistenceStorageProvider({ client, tableName: "agents", expireDroppedAfterDays });
  const owned = await log.open("a", processOwner());
  await appendText(owned, "1");
  await owned.drop();
  const items = [...(client.partitions.get("agent a") ?? new Map<string, object>()).values()];
  expect(items.length).toBeGreaterThan(0);
  expect(items.every((item) => "expires" in item)).toBe(expires);
  expect((await log.open("a", processOwner())).position).toBe(1);
  await log.close();
});

it.each([1, 2])("an agent can be created again while its items expire in any order, after owner %i", async (owners) => {
  const dropped = async () => {
    const client = new FakeDynamoDB();
    const clock = new SimulatedClock();
    const options = { client, tableName: "t", expireDroppedAfterDays: 7, clock };
    const { log } = new DynamoDBPersistenceStorageProvider(options);
    for (let owner = 1; owner < owners; owner++) {
      const first = await log.open("a", processOwner());
      for (const text of ["1", "2"]) await appendText(first, text);
      await first.release();
      await (await log.open("a", processOwner())).release();
    }
    const second = await log.open("a", processOwner());
    await appendText(second, "3", { summary: exampleSummary("a", "queued") });
    await second.drop();
    clock.advance(8 * 86_400_000);
    return { log, items: client.partitions.get("agent a") ?? new Map<string, object>() };
  };
  const count = (await dropped()).items.size;
  for (let removed = 0; removed < 2 ** count; removed++) {
    const { log, items } = await dropped();
    for (const [at, key] of [...items.keys()].entries()) if ((removed >> at) % 2 === 1) items.delete(key);
    const owned = await log.open("a", processOwner());
    const position = await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    await owned.release();
    const read = (await collect(log.read("a"))).map((entry) => entry.position);
    expect([removed, read]).toEqual([removed, [position]]);
    expect(await collect(log.list({ status: "queued" }))).toHaveLength(1);
    const next = await log.open("a", processOwner());
    expect(await appendText(next, "y")).toBe(position + 1);
    await log.close();
  }
});
