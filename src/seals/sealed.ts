import type { z } from "zod";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { functionSchema, integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import { type PersistenceStorageProvider, providerSchema, withLog } from "../storage/PersistenceStorageProvider.ts";
import type { SealKeeper, Sign, Verify } from "./log/Seal.ts";
import { SealingRecordLog } from "./log/SealingRecordLog.ts";

/** Options of {@link sealed}. */
export interface SealOptions {
  /** Signs the bytes of a seal. Only processes that run agents need the key. */
  readonly sign: Sign;
  /** Checks a signature of `sign`, also of earlier keys. */
  readonly verify: Verify;
  /**
   * Keeps the newest seal of each agent outside the storage. Without this option, a missing end of a log and an older
   * copy of the storage are not detected.
   */
  readonly keepAt?: SealKeeper | undefined;
  /** The most appends that one seal covers. Ends of runs are always sealed. Defaults to 16. */
  readonly every?: number | undefined;
}

const defaultEvery = 16;

export const verifySchema: z.ZodType<Verify> = functionSchema<Verify>();
export const keepAtSchema: z.ZodType<SealKeeper> = objectWithMethods<SealKeeper>("read", "write");

const optionsSchema = strictOptions(() => ({
  sign: functionSchema<Sign>(),
  verify: verifySchema,
  keepAt: keepAtSchema.optional(),
  every: integerFrom(1).optional(),
}));

/**
 * Signs the appends of a storage, so that changes by someone without the key are detected. Each read compares the log
 * with its seals. The stored data stays readable without the key and without this function.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 * @throws NotSupportedError if the storage has no log.
 *
 * @example
 * ```ts
 * const storage = sealed(new FilePersistenceStorageProvider(), {
 *   sign: (bytes) => sign(null, bytes, privateKey),
 *   verify: (bytes, signature) => verify(null, bytes, publicKey, signature),
 * });
 * ```
 */
export function sealed(storage: PersistenceStorageProvider, options: SealOptions): LogPersistenceStorageProvider {
  checkSchema(providerSchema, storage, "storage of sealed()");
  checkSchema(optionsSchema, options, "options of sealed()");
  const stored = withLog(storage, "sealed()");
  const { sign, verify, keepAt, every = defaultEvery } = options;
  const log = new SealingRecordLog(stored.log, { sign, verify, keepAt, every, sha256: () => stored.sha256() });
  const { inlineThresholdBytes, compressThresholdBytes } = stored;
  return new LogPersistenceStorageProvider(log, { inlineThresholdBytes, compressThresholdBytes });
}
