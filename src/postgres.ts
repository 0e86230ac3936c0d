export type { PostgresClient, PostgresListen, PostgresValue } from "./storage/postgres/PostgresConnection.ts";
export { type PostgresMigration, postgresMigrations } from "./storage/postgres/postgresMigrations.ts";
export {
  PostgresPersistenceStorageProvider,
  type PostgresProviderOptions,
} from "./storage/postgres/PostgresPersistenceStorageProvider.ts";
export { StorageNotReadyError } from "./errors/storageErrors.ts";
export type { TableRecordLogOptions } from "./storage/table/TableRecordLog.ts";
