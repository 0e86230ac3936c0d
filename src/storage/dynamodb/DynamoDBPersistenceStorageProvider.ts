import { systemClock } from "../../internal/Clock.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString, numberFrom, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { platformSha256 } from "../../internal/sha256/platformSha256.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { TableRecordLog, tableRecordLogShape, type TableRecordLogOptions } from "../table/TableRecordLog.ts";
import type { DynamoDBClient } from "./items/DynamoDBConnection.ts";
import { DynamoDBLogTable } from "./DynamoDBLogTable.ts";

/** Options of {@link DynamoDBPersistenceStorageProvider}. */
export interface DynamoDBProviderOptions extends TableRecordLogOptions, LogProviderOptions {
  /** The `DynamoDB` client of `@aws-sdk/client-dynamodb`. The storage does not destroy the client. */
  readonly client: DynamoDBClient;
  /** The name of a table that was created from `dynamoDBTable`. */
  readonly tableName: string;
  /**
   * The number of days after which the last items of a dropped agent expire, which record its last owner and the start
   * of its log. Set the time to live of the table to the attribute `expires`. No write may be delayed for longer than
   * this time. By default, the items are kept.
   */
  readonly expireDroppedAfterDays?: number | undefined;
}

const optionsSchema = strictOptions(() => ({
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
}));

/**
 * Stores agents in a DynamoDB table that many processes on many machines can share. A resolved save is durable. All
 * writes are conditional requests for single items, and all reads are strongly consistent.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { DynamoDB } from "@aws-sdk/client-dynamodb";
 *
 * const client = new DynamoDB();
 * await client.createTable(dynamoDBTable({ tableName: "agents" }));
 * const storage = new DynamoDBPersistenceStorageProvider({ client, tableName: "agents" });
 * ```
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

/** Options of {@link dynamoDBTable}. */
export interface DynamoDBTableOptions {
  readonly tableName: string;
}

/** The input for `createTable` of the SDK. */
export interface DynamoDBTableDefinition {
  TableName: string;
  AttributeDefinitions: { AttributeName: string; AttributeType: "S" | "B" }[];
  KeySchema: { AttributeName: string; KeyType: "HASH" | "RANGE" }[];
  BillingMode: "PAY_PER_REQUEST";
}

const tableOptionsSchema = strictOptions(() => ({ tableName: nonEmptyString }));

/**
 * Returns the table definition for `createTable` or for infrastructure code. The table has a partition key `pk` of type
 * string, a sort key `sk` of type binary, and no index. Add further settings such as tags or encryption.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export function dynamoDBTable(options: DynamoDBTableOptions): DynamoDBTableDefinition {
  checkSchema(tableOptionsSchema, options, "options of the DynamoDB table");
  return {
    TableName: options.tableName,
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "B" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  };
}
