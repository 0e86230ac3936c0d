import { systemClock } from "../../internal/Clock.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, numberFrom, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { TableRecordLog, tableRecordLogShape, type TableRecordLogOptions } from "../table/TableRecordLog.ts";
import type { DynamoDBClient } from "./items/DynamoDBClient.ts";
import { DynamoDBLogTable } from "./DynamoDBLogTable.ts";

/** The table, how long owners may be silent, and how values are stored. */
export interface DynamoDBProviderOptions extends TableRecordLogOptions, LogProviderOptions {
  /** `new DynamoDB()` of `@aws-sdk/client-dynamodb`. It is not destroyed. */
  readonly client: DynamoDBClient;
  /** The name of a table that is made as `dynamoDBTable` says. */
  readonly tableName: string;
  /**
   * Days after which what a drop leaves may be removed: who was the last owner, and where owners began to append. The table
   * must have its time to live on the attribute `expires`. A write that is older than this must not arrive any more. Default:
   * it stays for ever.
   */
  readonly expireDroppedAfterDays?: number | undefined;
}

const optionsSchema = strictOptions({
  ...tableRecordLogShape,
  ...logProviderShape,
  client: objectWithMethods<DynamoDBClient>(
    "getItem",
    "putItem",
    "updateItem",
    "deleteItem",
    "query",
    "batchGetItem",
    "batchWriteItem",
  ),
  tableName: nonEmptyString,
  expireDroppedAfterDays: numberFrom(1).optional(),
});

/**
 * Stores agents in a DynamoDB table, which many processes on many machines may use at once. A save that resolved is durable.
 * All writes are conditional requests for single items, and all reads are consistent.
 *
 * @throws InvalidInputError when an option is unknown or has a wrong value.
 */
export class DynamoDBPersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: DynamoDBProviderOptions) {
    checkSchema(optionsSchema, options, "options of the DynamoDB storage");
    const { client, tableName, expireDroppedAfterDays, ...others } = options;
    const { inlineThresholdBytes, compressThresholdBytes, sha256, ...log } = others;
    const table = new DynamoDBLogTable({
      client,
      tableName,
      expireDroppedAfterDays,
      clock: log.clock ?? systemClock,
      sha256: sha256 === undefined ? platformSha256 : () => Promise.resolve(sha256),
    });
    super(new TableRecordLog(table, { ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
  }
}
