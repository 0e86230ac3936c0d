import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import { FileRecordLog, fileRecordLogShape, type FileRecordLogOptions } from "./FileRecordLog.ts";

/** The folder of a file storage, and how values are stored in it. */
export interface FileProviderOptions extends FileRecordLogOptions, Omit<LogProviderOptions, "sha256"> {}

const optionsSchema = strictOptions({ ...fileRecordLogShape, ...logProviderShape });

/**
 * Stores agents in a folder of this machine. A save that resolved survives a crash and a loss of power. Several processes
 * may use the folder at once. The folders and files that it makes are readable by their user only.
 *
 * @throws InvalidInputError when an option is unknown or has a wrong value.
 */
export class FilePersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: FileProviderOptions = {}) {
    checkSchema(optionsSchema, options, "options of the file storage");
    const { inlineThresholdBytes, compressThresholdBytes, sha256 = nodeSha256, ...log } = options;
    super(new FileRecordLog({ ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
  }
}
