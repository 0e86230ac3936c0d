export { FilePersistenceStorageProvider } from "./storage/file/FilePersistenceStorageProvider.ts";
export type { FileProviderOptions } from "./storage/file/FilePersistenceStorageProvider.ts";
export { FileBlobStore, type FileBlobStoreOptions } from "./storage/file/FileBlobStore.ts";
export { FileRecordLog, type FileRecordLogOptions } from "./storage/file/FileRecordLog.ts";
export type { FileSystem } from "./nodejs/FileSystem.ts";
export { nodeFileSystem } from "./nodejs/nodeFileSystem.ts";
export type { SalvageReport } from "./storage/file/salvageAgent.ts";
export type { ProcessIdentity } from "./nodejs/ProcessIdentity.ts";
