export {
  FilePersistenceStorageProvider,
  FileRecordLog,
  type FileProviderOptions,
  type FileRecordLogOptions,
} from "./storage/file/FileRecordLog.ts";
export { FileBlobStore, type FileBlobStoreOptions } from "./storage/file/FileBlobStore.ts";
export type { FileSystem } from "./nodejs/FileSystem.ts";
export { nodeFileSystem } from "./nodejs/nodeFileSystem.ts";
export type { SalvageReport } from "./storage/file/salvageAgent.ts";
export type { ProcessIdentity } from "./nodejs/ProcessIdentity.ts";
