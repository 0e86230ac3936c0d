import { NotSupportedError } from "../errors/storageErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { offersLog } from "../storage/LogStorage.ts";
import { type PersistenceStorageProvider, providerSchema } from "../storage/PersistenceStorageProvider.ts";
import { EncryptedRecordLog } from "./log/EncryptedRecordLog.ts";

/** Returns the encrypted log of a storage. @throws NotSupportedError if `encrypted()` did not make the storage. */
export function encryptedLogOf(storage: PersistenceStorageProvider, operation: string): EncryptedRecordLog {
  checkSchema(providerSchema, storage, `storage of ${operation}`);
  if (offersLog(storage) && storage.log instanceof EncryptedRecordLog) return storage.log;
  throw new NotSupportedError(operation, "a storage that encrypted() returned");
}
