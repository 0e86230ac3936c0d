export type { AgentCheckpointData } from "./checkpoint/data/AgentCheckpointData.ts";
export { formatVersion } from "./checkpoint/records/Entry.ts";
export { decodeEntry, encodeEntry, type DecodedEntry, type EncodableEntry } from "./checkpoint/format/entryCodec.ts";
export type { Entry, LogRecord } from "./checkpoint/records/Entry.ts";
export { PositionConflictError, StorageClosedError } from "./errors/storageErrors.ts";
export type { Clock } from "./internal/Clock.ts";
export { assertAgentId } from "./internal/options/assertAgentId.ts";
export type { Sha256 } from "./internal/sha256/Sha256.ts";
export type { ProcessFacts, ProcessIdentity } from "./nodejs/ProcessIdentity.ts";
export { incarnationOf } from "./nodejs/ProcessIdentity.ts";
export type { BlobStore } from "./storage/BlobStore.ts";
export { LogPersistenceStorageProvider, type LogProviderOptions } from "./storage/LogPersistenceStorageProvider.ts";
export { ReceivedAppends } from "./checkpoint/format/ReceivedAppends.ts";
export { filterCheckpoints } from "./storage/PersistenceStorageProvider.ts";
export type { CheckpointFilter, PersistenceStorageProvider } from "./storage/PersistenceStorageProvider.ts";
export type { TornTail } from "./checkpoint/records/Entry.ts";
export type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogCapabilities,
  LogEnd,
  LogOwner,
  LogWatch,
  OwnedLog,
  OwnerState,
  ReadOptions,
  RebuiltSummary,
  RecordLog,
  NewAgent,
  StoredAppends,
} from "./storage/RecordLog.ts";
export { processOwner } from "./storage/ReleasableLog.ts";
export type {
  LogTable,
  TableAppend,
  TableBlobs,
  TableClaim,
  TableClaimed,
  TableGap,
  TableHead,
  TableList,
  TableListed,
  TablePage,
  TablePruned,
  TableCreation,
  TablePublication,
  TableRange,
  TableRenewal,
  TableRow,
  TableSelection,
  TableSighting,
  TableSummary,
} from "./storage/table/LogTable.ts";
export { TableRecordLog, type TableRecordLogOptions } from "./storage/table/TableRecordLog.ts";
