import { NotSupportedError } from "../errors/storageErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { offersLog } from "../storage/LogStorage.ts";
import { type PersistenceStorageProvider, providerSchema } from "../storage/PersistenceStorageProvider.ts";
import { KeyedRecordLog } from "./keys/KeyedRecordLog.ts";

/** Returns the log of an encrypted storage. @throws NotSupportedError for any other storage. */
export function encryptedLogOf(storage: PersistenceStorageProvider, operation: string): KeyedRecordLog {
  checkSchema(providerSchema, storage, `storage of ${operation}`);
  if (offersLog(storage) && storage.log instanceof KeyedRecordLog) return storage.log;
  throw new NotSupportedError(operation, "a storage of encrypted(), or of a redaction with a vault");
}
