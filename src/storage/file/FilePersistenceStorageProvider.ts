import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { FileRecordLog, fileRecordLogShape, type FileRecordLogOptions } from "./FileRecordLog.ts";

/** Options of {@link FilePersistenceStorageProvider}. */
export interface FileProviderOptions extends FileRecordLogOptions, Omit<LogProviderOptions, "sha256"> {}

const optionsSchema = strictOptions(() => ({ ...fileRecordLogShape, ...logProviderShape }));

/**
 * Stores agents in a local directory. A resolved save survives crashes and power loss. Several processes may share the
 * directory. Created files and directories are readable only by the current user.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * const storage = new FilePersistenceStorageProvider({ directory: "./agents" });
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class FilePersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: FileProviderOptions = {}) {
    checkSchema(optionsSchema, options, "options of the file storage");
    const { inlineThresholdBytes, compressThresholdBytes, sha256 = nodeSha256, ...log } = options;
    super(new FileRecordLog({ ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
  }
}
