import { type OwnedLog, processOwner, TableRecordLog } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { DynamoDBLogTable } from "../../../src/storage/dynamodb/DynamoDBLogTable.ts";
import { appendText } from "../../../src/testing/conformance/log/logTest.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { connectionBroke, isWrite, WatchedDynamoDB } from "./support/WatchedDynamoDB.ts";

const endings: readonly (readonly [string, (owned: OwnedLog) => Promise<unknown>])[] = [
  [
    "an append that failed",
    (owned) => expect(appendText(owned, "x")).rejects.toMatchObject({ code: "storage_failed" }),
  ],
  ["a deletion that failed", (owned) => expect(owned.drop()).rejects.toMatchObject({ code: "storage_failed" })],
  ["a release that failed", (owned) => owned.release()],
];

it.each(endings)("the table forgets an owner after %s", async (_, end) => {
  const [client, clock] = [new WatchedDynamoDB(new FakeDynamoDB()), new SimulatedClock()];
  const table = new DynamoDBLogTable({ client, tableName: "agents", clock, sha256: async () => nodeSha256 });
  const log = new TableRecordLog(table, { clock, retryMs: 0, processIdentity: anyProcess });
  const owned = await log.open("a", processOwner());
  await appendText(owned, "one");
  expect(await table.remove("a", owned.generation, [])).toBe(true);
  client.onRequest = (method) => {
    if (isWrite(method)) throw connectionBroke();
  };
  await end(owned);
  client.onRequest = () => {};
  expect(await table.remove("a", owned.generation, [])).toBe(false);
});
