import { type DynamoDBClient, DynamoDBPersistenceStorageProvider } from "../../dynamodb.ts";
import { loadDriver } from "./loadDriver.ts";
import { commandRetryMs, type OpenedStorage, type OpenOptions } from "./OpenedStorage.ts";
import type { StorageAddress } from "./storageAddress.ts";

interface Driver {
  readonly DynamoDB: new (options: object) => DynamoDBClient & { destroy(): void };
}

/** Opens a DynamoDB table with the AWS SDK of the user's project and its default credentials. */
export async function openDynamodb(
  { table, region, endpoint }: Extract<StorageAddress, { kind: "dynamodb" }>,
  { cwd }: OpenOptions,
): Promise<OpenedStorage> {
  const { DynamoDB } = await loadDriver<Driver>(cwd, "@aws-sdk/client-dynamodb", "DynamoDB");
  const client = new DynamoDB({ ...(region !== undefined && { region }), ...(endpoint !== undefined && { endpoint }) });
  const storage = new DynamoDBPersistenceStorageProvider({ client, tableName: table, retryMs: commandRetryMs });
  const close = async (): Promise<void> => {
    await storage.log.close();
    client.destroy();
  };
  return { storage, name: `dynamodb:${table}`, close };
}
