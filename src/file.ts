export {
  FilePersistenceStorageProvider,
  type FileProviderOptions,
} from "./storage/file/FilePersistenceStorageProvider.ts";
export { FileRecordLog, type FileRecordLogOptions } from "./storage/file/FileRecordLog.ts";
export type { FileSystem } from "./storage/file/FileSystem.ts";
export { nodeFileSystem } from "./storage/file/nodeFileSystem.ts";
export type { SalvageReport } from "./storage/file/salvageAgent.ts";
export type { ProcessIdentity } from "./storage/file/ProcessIdentity.ts";
