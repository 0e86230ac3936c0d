export type { SqliteDatabase, SqliteStatement, SqliteValue } from "./storage/sqlite/SqliteConnection.ts";
export {
  SqlitePersistenceStorageProvider,
  type SqliteProviderOptions,
} from "./storage/sqlite/SqlitePersistenceStorageProvider.ts";
export type { TableRecordLogOptions } from "./storage/table/TableRecordLog.ts";
