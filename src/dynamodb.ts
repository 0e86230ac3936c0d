export type { DynamoDBClient, DynamoDBItem } from "./storage/dynamodb/items/DynamoDBConnection.ts";
export {
  DynamoDBPersistenceStorageProvider,
  type DynamoDBProviderOptions,
} from "./storage/dynamodb/DynamoDBPersistenceStorageProvider.ts";
export {
  dynamoDBTable,
  type DynamoDBTableDefinition,
  type DynamoDBTableOptions,
} from "./storage/dynamodb/DynamoDBPersistenceStorageProvider.ts";
export type { TableRecordLogOptions } from "./storage/table/TableRecordLog.ts";
