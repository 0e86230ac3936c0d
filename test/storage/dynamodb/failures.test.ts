import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { processOwner } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { appendText } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./FakeDynamoDB.ts";
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
