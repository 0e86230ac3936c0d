import { z } from "zod";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import { type PersistenceStorageProvider, providerSchema, withLog } from "../storage/PersistenceStorageProvider.ts";
import { DataKeys } from "./keys/DataKeys.ts";
import { KeyLog } from "./keys/KeyLog.ts";
import { type KeySource, keySourceSchema } from "../storage/KeySource.ts";
import { EncryptedRecordLog } from "./log/EncryptedRecordLog.ts";
import { defaultPlainFields, type PlainField, plainFields } from "./log/sealedSummary.ts";

/** Options of {@link encrypted}. */
export interface EncryptionOptions {
  /** The keys that encrypt the data key of each agent. */
  readonly keys: KeySource;
  /**
   * The fields of summaries that stay readable in the storage, for queries of your own. The status, the times and the
   * sort key always stay readable. Defaults to `["priority", "attempts", "checkpoints"]`.
   */
  readonly plain?: readonly PlainField[] | undefined;
  /**
   * The storage of the encrypted data keys. A separate storage, with separate backups, makes destroyed keys
   * unrecoverable. Defaults to the encrypted storage.
   */
  readonly keyStorage?: PersistenceStorageProvider | undefined;
}

const optionsSchema = strictOptions(() => ({
  keys: keySourceSchema,
  plain: z.array(z.enum(plainFields)).optional(),
  keyStorage: providerSchema.optional(),
}));

/**
 * Encrypts all data of a storage with AES-256-GCM, after the data is serialized. Each agent has a separate data key,
 * which a key of `keys` encrypts. If someone without the key changed, moved or stored data, that data is rejected.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 * @throws NotSupportedError if the storage has no log, or if its blob store does not accept names for blobs.
 *
 * @example
 * ```ts
 * const key = Buffer.from(process.env.AGENT_KEY ?? "", "base64");
 * const keys = { current: "2026-11", get: (keyId: string) => (keyId === "2026-11" ? key : undefined) };
 * const storage = encrypted(new FilePersistenceStorageProvider(), { keys });
 * ```
 */
export function encrypted(
  storage: PersistenceStorageProvider,
  options: EncryptionOptions,
): LogPersistenceStorageProvider {
  checkSchema(providerSchema, storage, "storage of encrypted()");
  checkSchema(optionsSchema, options, "options of encrypted()");
  const { keys, plain = defaultPlainFields, keyStorage = storage } = options;
  const [stored, ofKeys] = [withLog(storage, "encrypted()"), withLog(keyStorage, "encrypted()")];
  const sha256 = () => stored.sha256();
  const dataKeys = new DataKeys(new KeyLog(ofKeys.log, sha256), keys);
  const log = new EncryptedRecordLog(stored.log, { keys: dataKeys, plain, sha256 });
  const { inlineThresholdBytes, compressThresholdBytes } = stored;
  return new LogPersistenceStorageProvider(log, { inlineThresholdBytes, compressThresholdBytes });
}
