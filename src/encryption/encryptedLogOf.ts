import { NotSupportedError } from "../errors/storageErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { offersLog } from "../storage/LogStorage.ts";
import { type PersistenceStorageProvider, providerSchema } from "../storage/PersistenceStorageProvider.ts";
import type { DataKey } from "./keys/DataKey.ts";
import { DataKeys } from "./keys/DataKeys.ts";

/** A log with a data key for each agent, of `encrypted()` or of a redaction with a vault. */
export interface KeyedLog {
  readonly keys: DataKeys;
  keyForWriting(agentId: string): Promise<DataKey>;
  destroyKey(agentId: string): Promise<void>;
}

/** Returns the log of an encrypted storage. @throws NotSupportedError for any other storage. */
export function encryptedLogOf(storage: PersistenceStorageProvider, operation: string): KeyedLog {
  checkSchema(providerSchema, storage, `storage of ${operation}`);
  const log = offersLog(storage) ? (storage.log as unknown as Partial<KeyedLog>) : undefined;
  if (log?.keys instanceof DataKeys) return log as KeyedLog;
  throw new NotSupportedError(operation, "a storage of encrypted(), or of a redaction with a vault");
}
