import { LogPersistenceStorageProvider, type LogProviderOptions } from "../LogPersistenceStorageProvider.ts";
import { FileRecordLog, type FileRecordLogOptions } from "./FileRecordLog.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";

/** Where and how files are kept. */
export interface FileProviderOptions extends FileRecordLogOptions, Omit<LogProviderOptions, "sha256"> {}

/**
 * Keeps agents in a folder of this machine: durable when a save resolves, also through a loss of power, and safe with
 * several processes. Folders are private to the user.
 */
export class FilePersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: FileProviderOptions = {}) {
    super(new FileRecordLog(options), { ...options, sha256: options.sha256 ?? nodeSha256 });
  }
}
