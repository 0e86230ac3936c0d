import { type DynamoDBClient, DynamoDBPersistenceStorageProvider } from "../../../src/dynamodb.ts";
import { toItem } from "../../../src/storage/dynamodb/items/DynamoDBConnection.ts";
import { blobKey, type ItemKey, slotKey } from "../../../src/storage/dynamodb/items/itemKeys.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { ProcessClocks } from "../../testing/conformance/ProcessClocks.ts";
import { alterByte } from "../../testing/conformance/RememberingSha256.ts";
import type { ReopenableHarness } from "../../testing/conformance/ReopenableHarness.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { localDynamoDB, newTable } from "./localDynamoDB.ts";
import { WatchedDynamoDB } from "./support/WatchedDynamoDB.ts";

/** A log in a table of its own, in memory, which many processes use. */
export function inDynamoDB(): ReopenableHarness {
  return inTableOf(new FakeDynamoDB(), "agents");
}

/** The same in a table of a server. */
export async function onDynamoDBServer(): Promise<ReopenableHarness> {
  return inTableOf(await localDynamoDB(), await newTable());
}

function inTableOf(database: DynamoDBClient, tableName: string): ReopenableHarness {
  const clocks = new ProcessClocks();
  const clients: WatchedDynamoDB[] = [];
  const reopen = () => {
    const client = new WatchedDynamoDB(database);
    clients.push(client);
    const clock = clocks.start();
    return new DynamoDBPersistenceStorageProvider({ client, tableName, clock, processIdentity: anyProcess }).log;
  };
  const alter = async (key: ItemKey) => {
    const { Item } = await database.getItem({ TableName: tableName, Key: toItem({ ...key }) });
    const bytes = Item?.["bytes"] as { readonly B: Uint8Array } | undefined;
    if (bytes === undefined) throw new Error("there is nothing to alter");
    alterByte(bytes.B);
    await database.putItem({ TableName: tableName, Item });
  };
  return {
    log: reopen(),
    reopen,
    advance: async (ms) => {
      clocks.advance(ms);
      for (const client of clients) await client.idle();
    },
    silence: () => clocks.stopAll(),
    alter: (agentId, at) => alter(slotKey(agentId, at)),
    alterBlob: (agentId, reference) => alter(blobKey(agentId, reference)),
    loseAnswer: () => clients.forEach((client) => (client.losesAnswer = true)),
  };
}
