import { NotSupportedError } from "../errors/storageErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import {
  type PersistenceStorageProvider,
  providerSchema,
  offersLog,
  type LogStorage,
} from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

export type TransferStorage<Method extends "encodedAppends" | "receive"> = LogStorage & {
  readonly log: RecordLog & Required<Pick<RecordLog, Method>>;
};

/** @throws NotSupportedError if the storage has no log, or the log lacks the method. */
export function logOf<Method extends "encodedAppends" | "receive">(
  storage: PersistenceStorageProvider,
  method: Method,
  operation: string,
): TransferStorage<Method> {
  checkSchema(providerSchema, storage, `storage of ${operation}`);
  if (!offersLog(storage) || !has(storage, method))
    throw new NotSupportedError(operation, `a log with the method ${method}()`);
  return storage;
}

/**
 * Returns a storage whose logs can be exported.
 *
 * @throws NotSupportedError if the storage is redacted, because the archive would contain the plain values of the
 * blobs.
 */
export function exportedStorage(
  storage: PersistenceStorageProvider,
  operation: string,
): TransferStorage<"encodedAppends"> {
  const source = logOf(storage, "encodedAppends", operation);
  if (!source.log.capabilities.redacted) return source;
  const missing = "the stored form of redacted values (pass the storage that redact.storage() wraps)";
  throw new NotSupportedError(operation, missing);
}

function has<Method extends "encodedAppends" | "receive">(
  storage: LogStorage,
  method: Method,
): storage is TransferStorage<Method> {
  return typeof storage.log[method] === "function";
}
