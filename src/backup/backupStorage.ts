import { z } from "zod";
import { isKeyLogId } from "../encryption/keys/KeyLog.ts";
import { InvalidAgentIdError, InvalidInputError } from "../errors/agentErrors.ts";
import { NotSupportedError, AgentBusyError } from "../errors/storageErrors.ts";
import {
  type LogShapeName,
  UnreadableValueError,
  CorruptBlobError,
  InvalidArchiveError,
} from "../errors/storedDataErrors.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { KeySource } from "../storage/KeySource.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { isAboutOneAgent, keyStatus, shapeOfStatus, unreadable } from "../storage/summaries.ts";
import {
  writingKeys,
  writingKeysSchema,
  decryptedArchive,
  encryptedArchive,
} from "../transfer/format/encryptedArchive.ts";
import { exportLog } from "../transfer/exportAgent.ts";
import { isAboutMore } from "../transfer/keptAppends.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import type { CustodyRecord } from "../checkpoint/records/runRecords.ts";
import { ByteReader } from "../transfer/format/ByteReader.ts";
import { exportedStorage, type TransferStorage } from "../transfer/logOf.ts";
import { BackupFolder, type BackedUpLog } from "./BackupFolder.ts";

/** Options of {@link backupStorage}. */
export interface BackupOptions {
  /** The directory of the backup: a new or empty one, or one with an earlier backup of the storage. */
  readonly directory: string;
  /**
   * Encrypts each archive with a separate data key, which the current key encrypts. Archives that another key has
   * encrypted are encrypted again. Plain archives are written again from their logs. If the log of a plain archive was
   * deleted, the archive is listed in `failed`, because anyone could have written it. `false` for plain archives.
   * Defaults to the keys of an encrypted storage, and to `false` otherwise.
   */
  readonly keys?: KeySource | false | undefined;
  /** Called after each log with the number of finished logs. Must not throw. */
  readonly onProgress?: ((finished: number) => void) | undefined;
  /** Removes archives whose log is missing. Defaults to `false`, so that a lost storage does not erase the backup. */
  readonly removeDeleted?: boolean | undefined;
  /** Stops the backup with the signal's reason. The directory stays a valid backup. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

/** A log whose copy failed, and why. */
export interface FailedLog {
  readonly logId: string;
  readonly error: unknown;
}

/** The result of {@link backupStorage}. Each log is in one of the lists, except for logs that a backup omits. */
export interface BackupReport {
  /** The logs that were written, because they are new, changed, or were encrypted with another key. */
  readonly written: readonly string[];
  /** The logs that did not change since the last backup. */
  readonly unchanged: readonly string[];
  /** Deleted logs and moved agents, whose archives are kept, or removed with `removeDeleted`. */
  readonly deleted: readonly string[];
  /** The logs that cannot be read, whose earlier archives are kept. */
  readonly failed: readonly FailedLog[];
}

const optionsSchema = strictOptions(() => ({
  directory: nonEmptyString,
  keys: writingKeysSchema.optional(),
  onProgress: functionSchema().optional(),
  removeDeleted: z.boolean().optional(),
  signal: abortSignalSchema.optional(),
}));

/**
 * Copies all agents, threads, sessions and inboxes of a storage into a directory, while programs use the storage. The
 * copy of each log is consistent. A repeated backup into the same directory writes only the changed logs. Rate limits,
 * schedules, moved agents and data keys are omitted.
 *
 * If the process ends during a backup, each archive in the directory is either the earlier or the new one.
 *
 * @throws InvalidInputError if the directory has other content.
 * @throws BackupBusyError if another backup writes into the directory.
 * @throws NotSupportedError if the storage cannot list or return its logs, or is redacted.
 * @example
 * ```ts
 * const { written } = await backupStorage(storage, { directory: "/backups/agents" });
 * ```
 */
export async function backupStorage(
  storage: PersistenceStorageProvider,
  options: BackupOptions,
): Promise<BackupReport> {
  checkSchema(optionsSchema, options, "options of backupStorage()");
  const source = exportedStorage(storage, "backupStorage()");
  const folder = new BackupFolder(options.directory);
  const lock = await folder.begin();
  try {
    const { signal } = options;
    const stop = signal ? AbortSignal.any([lock.lost, signal]) : lock.lost;
    const { removeDeleted = false } = options;
    const copied = { source, folder, keys: writingKeys(source, options.keys), removeDeleted };
    return await copyAll(copied, { ...options, signal: stop });
  } finally {
    try {
      await folder.sync();
    } finally {
      await lock.release();
    }
  }
}

interface CopiedStorage {
  readonly source: TransferStorage<"encodedAppends">;
  readonly folder: BackupFolder;
  /** The keys that encrypt the archives. `undefined` for plain archives. */
  readonly keys: KeySource | undefined;
  readonly removeDeleted: boolean;
}

async function copyAll(copied: CopiedStorage, { onProgress, signal, keys }: BackupOptions): Promise<BackupReport> {
  const report: Record<Outcome, string[]> & { readonly failed: FailedLog[] } = {
    written: [],
    unchanged: [],
    deleted: [],
    failed: [],
  };
  const { archives, damaged } = await copied.folder.read();
  // An archive that cannot be read is possibly encrypted, and must not be replaced by a plain archive.
  for (const { error } of damaged) if (!(error instanceof InvalidArchiveError)) throw error;
  if (!copied.keys && keys !== false) assertPlain(archives);
  let finished = 0;
  for await (const log of logsIn(copied.source, archives)) {
    signal?.throwIfAborted();
    try {
      const outcome = await copyLog(copied, log).catch((error: unknown) => {
        // If a pruning removed values of the log during the copy, the log is copied again.
        if (error instanceof UnreadableValueError) return copyLog(copied, log);
        throw error;
      });
      if (outcome) report[outcome].push(log.logId);
    } catch (error) {
      if (!isAboutOneLog(error) && !(error instanceof NotSupportedError)) throw error;
      report.failed.push({ logId: log.logId, error });
    }
    onProgress?.(++finished);
  }
  return report;
}

/** Rejects plain archives next to encrypted archives, because this is probably a mistake. */
function assertPlain(archives: ReadonlyMap<string, BackedUpLog>): void {
  if (![...archives.values()].some(({ keyId }) => keyId !== undefined)) return;
  const expected = "expected the keys of the encrypted archives in the directory, or `false` for plain archives";
  throw new InvalidInputError("options of backupStorage()", [{ path: "keys", expected }]);
}

type Outcome = "written" | "unchanged" | "deleted";

interface FoundLog {
  readonly logId: string;
  /** The status in the list of the storage. `undefined` if only the last backup has the log. */
  readonly status: string | undefined;
  readonly earlier: BackedUpLog | undefined;
}

/** Yields the listed logs, and then the other logs of the last backup, because a list can omit logs for a moment. */
async function* logsIn(
  { log }: TransferStorage<"encodedAppends">,
  archives: ReadonlyMap<string, BackedUpLog>,
): AsyncGenerator<FoundLog> {
  const listed = new Set<string>();
  for await (const { agentId: logId, status } of log.list({ readOnly: true })) {
    listed.add(logId);
    if (!isOmitted(logId, status)) yield { logId, status, earlier: archives.get(logId) };
  }
  for (const earlier of archives.values())
    if (!listed.has(earlier.logId)) yield { logId: earlier.logId, status: undefined, earlier };
}

async function copyLog(copied: CopiedStorage, { logId, status, earlier }: FoundLog): Promise<Outcome | undefined> {
  const { source, folder, keys } = copied;
  if (earlier && status !== undefined && earlier.keyId === keys?.current) {
    const isOfKind = (earlier.shape ?? "agent") === shapeOfStatus(status);
    if (isOfKind && (await endsWith(source, earlier))) return "unchanged";
  }
  const archive = await exportLog(source, logId, keys);
  if (archive) {
    await folder.store(logId, archive);
    return "written";
  }
  if (status === unreadable) throw new UnreadableValueError("the log has no readable id");
  if (earlier) await finishDeleted(copied, earlier);
  return earlier && "deleted";
}

/** Removes the archive of a deleted log, or encrypts the archive with the current key. */
async function finishDeleted({ folder, keys, removeDeleted }: CopiedStorage, earlier: BackedUpLog): Promise<void> {
  if (removeDeleted) await folder.remove(earlier.file);
  else if (keys && earlier.keyId !== keys.current) await encryptAgain(folder, earlier, keys);
}

/** Returns whether a new archive of the log would end with the same append as the earlier archive. */
async function endsWith(
  { log }: TransferStorage<"encodedAppends">,
  { logId, position, generation, checksum }: BackedUpLog,
): Promise<boolean> {
  let isSame = false;
  for await (const entry of log.read(logId, { after: position - 1 })) {
    const isEnd = entry.position === position && entry.generation === generation && entry.checksum === checksum;
    if (isSame ? changesArchive(entry) : !isEnd) return false;
    isSame = true;
  }
  return isSame;
}

/**
 * Whether an entry after the archived entries changes the archive. Records about copies do not change the archive. A
 * moved agent has no archive.
 */
function changesArchive({ records }: Entry): boolean {
  const isMoved = records.some((record) => (record as Partial<CustodyRecord>).state === "moved");
  return isMoved || records.length === 0 || (records as readonly CustodyRecord[]).some(isAboutMore);
}

/** Whether the backup omits the log. A data key in a backup would survive `destroyKey`. */
function isOmitted(logId: string, status: string): boolean {
  if (status === keyStatus || (status === unreadable && isKeyLogId(logId))) return true;
  return omitted.includes(shapeOfStatus(status));
}

const omitted: readonly LogShapeName[] = ["rate", "schedule"];

/**
 * Encrypts an archive again with the current key, without reading its log.
 *
 * @throws KeyMissingError, AuthenticationFailedError
 * @throws InvalidArchiveError for a plain archive, because anyone could have written it
 */
async function encryptAgain(folder: BackupFolder, archive: BackedUpLog, keys: KeySource): Promise<void> {
  const stored = folder.bytesOf(archive.file);
  const { logId: agentId, position, generation, checksum, shape } = archive;
  try {
    const plain = await decryptedArchive(new ByteReader(stored), { source: keys, isRequired: true });
    const facts = withoutUndefined({ agentId, position, generation, checksum, shape });
    await folder.store(agentId, encryptedArchive(plain.rest(), facts, keys));
  } finally {
    await stored.return(undefined);
  }
}

const kinds = [AgentBusyError, CorruptBlobError, InvalidAgentIdError, InvalidArchiveError, UnreadableValueError];

/** Whether an error concerns a single log, so that a backup continues with the other logs. */
export function isAboutOneLog(error: unknown): boolean {
  return isAboutOneAgent(error) || kinds.some((kind) => error instanceof kind);
}
