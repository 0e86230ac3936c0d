import { z } from "zod";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { functionSchema, integerFrom, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import {
  type PersistenceStorageProvider,
  providerSchema,
  withLog,
  type LogStorage,
  offersLog,
} from "../storage/PersistenceStorageProvider.ts";
import { type KeptSeal, readKept, type SealKeeper, type Sign, type Verify } from "./log/Seal.ts";
import { SealingRecordLog } from "./log/SealingRecordLog.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import type { SealChange } from "../errors/sealErrors.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import type { RecordLog } from "../storage/RecordLog.ts";
import { isAboutOneAgent } from "../storage/summaries.ts";
import { checkSeals, SealReading } from "./log/checkSeals.ts";

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

const verifySchema: z.ZodType<Verify> = functionSchema<Verify>();
const keepAtSchema: z.ZodType<SealKeeper> = objectWithMethods<SealKeeper>("read", "write");

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
  const { sign, verify, keepAt } = options;
  // A seal contains this number as JSON, which has no infinite numbers.
  const every = Math.min(options.every ?? defaultEvery, Number.MAX_SAFE_INTEGER);
  const log = new SealingRecordLog(stored.log, { sign, verify, keepAt, every, sha256: () => stored.sha256() });
  const { inlineThresholdBytes, compressThresholdBytes } = stored;
  return new LogPersistenceStorageProvider(log, { inlineThresholdBytes, compressThresholdBytes });
}

/** Options of {@link verifySeals}. */
export interface VerifySealsOptions {
  /** Checks a signature. Defaults to the option of `sealed()`. */
  readonly verify?: Verify | undefined;
  /** The place with the newest seals. Defaults to the option of `sealed()`. */
  readonly keepAt?: SealKeeper | undefined;
  /** The logs to check. Defaults to all logs of the storage, and all logs of which a seal is kept. */
  readonly agentIds?: readonly string[] | undefined;
}

/** The result of {@link verifySeals} for one log. */
export interface SealVerification {
  /** The id of the agent, thread or session. */
  readonly agentId: string;
  /** The position of the last append, or 0 without appends. */
  readonly position: number;
  /** The number of appends at the end that no seal covers yet. Changes of these appends are not detected. */
  readonly unsealed: number;
  /** The differences, in the order of the log. Empty if the log matches its seals. */
  readonly changes: readonly SealChange[];
  /** Why the log cannot be read. Omitted if it can be read. */
  readonly error?: AgentPersistenceError;
}

const verifySealsSchema = strictOptions(() => ({
  verify: verifySchema.optional(),
  keepAt: keepAtSchema.optional(),
  agentIds: z.array(z.string()).optional(),
}));

/**
 * Compares logs with their seals, and names each changed append. Reads the whole logs, without owning them.
 *
 * @param storage - the storage that `sealed()` returned, or the storage that you passed to `sealed()`.
 * @throws InvalidInputError if `verify` is missing and `sealed()` did not make the storage.
 *
 * @example
 * ```ts
 * for await (const { agentId, changes } of verifySeals(storage))
 *   for (const { kind, position } of changes) console.error(agentId, kind, position);
 * ```
 */
export async function* verifySeals(
  storage: PersistenceStorageProvider,
  options: VerifySealsOptions = {},
): AsyncGenerator<SealVerification, void, undefined> {
  checkSchema(providerSchema, storage, "storage of verifySeals()");
  checkSchema(verifySealsSchema, options, "options of verifySeals()");
  if (!offersLog(storage)) throw new NotSupportedError("verifySeals()", "a log of all records");
  const { log } = storage;
  const [stored, own] = log instanceof SealingRecordLog ? [log.stored, log.options] : [log, {} as VerifySealsOptions];
  const { verify = own.verify, keepAt = own.keepAt, agentIds } = options;
  if (!verify)
    throw new InvalidInputError("options of verifySeals()", [
      { path: "verify", expected: "a function, because sealed() did not make the storage" },
    ]);
  for await (const agentId of agentIds ?? idsIn(stored, keepAt))
    yield verified({ stored, sha256: () => storage.sha256() }, agentId, verify, keepAt);
}

async function* idsIn(log: RecordLog, keepAt: SealKeeper | undefined): AsyncGenerator<string> {
  const found = new Set<string>();
  for await (const { agentId } of log.list()) {
    found.add(agentId);
    yield agentId;
  }
  for await (const agentId of keepAt?.agentIds?.() ?? []) if (!found.has(agentId)) yield agentId;
}

interface VerifiedLog {
  readonly stored: RecordLog;
  readonly sha256: LogStorage["sha256"];
}

async function verified(
  log: VerifiedLog,
  agentId: string,
  verify: Verify,
  keepAt: SealKeeper | undefined,
): Promise<SealVerification> {
  // Read before the log, because an append in between would make the log appear truncated.
  const kept = await readKept(keepAt, agentId);
  const found = await compared(log, agentId, verify, kept);
  // A deletion or an import between the two reads looks like a change.
  const isOutdated = found.changes.length > 0 && !isSameSeal(kept, await readKept(keepAt, agentId));
  return isOutdated ? verified(log, agentId, verify, keepAt) : found;
}

async function compared(
  { stored, sha256 }: VerifiedLog,
  agentId: string,
  verify: Verify,
  kept: KeptSeal | undefined,
): Promise<SealVerification> {
  const reading = new SealReading(await sha256());
  try {
    for await (const entry of stored.read(agentId)) reading.add(entry);
  } catch (error) {
    if (!isAboutOneAgent(error) || !AgentPersistenceError.isInstance(error)) throw error;
    return { agentId, position: reading.appends.at(-1)?.position ?? 0, unsealed: 0, changes: [], error };
  }
  const { appends } = reading;
  const { changes, tail } = await checkSeals(appends, { agentId, sha256: await sha256(), verify, kept });
  return { agentId, position: appends.at(-1)?.position ?? 0, unsealed: tail.length, changes };
}

function isSameSeal(before: KeptSeal | undefined, after: KeptSeal | undefined): boolean {
  const facts = (seal: KeptSeal | undefined) =>
    seal && [seal.generation, seal.position, seal.hash, seal.dropping, seal.dropped];
  return JSON.stringify(facts(before)) === JSON.stringify(facts(after));
}
