import { z } from "zod";
import { NotSupportedError } from "../errors/storageErrors.ts";
import { type LogShapeName, UnreadableValueError } from "../errors/storedDataErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { shapeOfStatus, unreadable } from "../storage/summaries.ts";
import { exportLog } from "../transfer/exportAgent.ts";
import { exportedStorage, type TransferStorage } from "../transfer/logOf.ts";
import { BackupFolder, type BackedUpLog } from "./BackupFolder.ts";
import { isAboutOneLog } from "./isAboutOneLog.ts";

/** Options of {@link backupStorage}. */
export interface BackupOptions {
  /** The directory of the backup. It is created, and must be empty or contain an earlier backup of the storage. */
  readonly directory: string;
  /** Called after each log with the number of finished logs. Must not throw. */
  readonly onProgress?: ((finished: number) => void) | undefined;
  /**
   * Removes the archives of logs that the storage no longer has. Defaults to `false`, so that a lost or another storage
   * does not erase the backup.
   */
  readonly removeDeleted?: boolean | undefined;
  /** Stops the backup with the signal's reason. The directory stays a valid backup. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

/** A log whose copy failed, and why. */
export interface FailedLog {
  readonly logId: string;
  readonly error: unknown;
}

/** The result of {@link backupStorage}. Each log except the omitted ones is in one of the lists. */
export interface BackupReport {
  /** The logs that were written, because they are new or changed since the last backup. */
  readonly written: readonly string[];
  /** The logs that did not change since the last backup. */
  readonly unchanged: readonly string[];
  /** The logs that the storage no longer has, and moved agents. Their archives were removed with `removeDeleted`, and kept otherwise. */
  readonly deleted: readonly string[];
  /** The logs that cannot be read, and data keys. Their earlier archives are kept. */
  readonly failed: readonly FailedLog[];
}

const optionsSchema = strictOptions(() => ({
  directory: nonEmptyString,
  onProgress: functionSchema().optional(),
  removeDeleted: z.boolean().optional(),
  signal: abortSignalSchema.optional(),
}));

/**
 * Copies all agents, threads, sessions and inboxes of a storage into a directory, while programs use the storage. Each
 * log is copied as it was at one moment. A repeated backup into the same directory writes only the changed logs. Rate
 * limits, schedules and moved agents are omitted.
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
    return await copyAll(source, folder, { ...options, signal: stop });
  } finally {
    try {
      await folder.sync();
    } finally {
      await lock.release();
    }
  }
}

async function copyAll(
  source: TransferStorage<"encodedAppends">,
  folder: BackupFolder,
  { removeDeleted = false, onProgress, signal }: BackupOptions,
): Promise<BackupReport> {
  const report: Record<Outcome, string[]> & { readonly failed: FailedLog[] } = {
    written: [],
    unchanged: [],
    deleted: [],
    failed: [],
  };
  const { archives } = await folder.read();
  let finished = 0;
  for await (const log of logsIn(source, archives)) {
    signal?.throwIfAborted();
    try {
      const outcome = await copyLog(source, folder, log);
      if (outcome) report[outcome].push(log.logId);
      if (outcome === "deleted" && removeDeleted && log.earlier) await folder.remove(log.earlier.file);
    } catch (error) {
      if (!isAboutOneLog(error) && !(error instanceof NotSupportedError)) throw error;
      report.failed.push({ logId: log.logId, error });
    }
    onProgress?.(++finished);
  }
  return report;
}

type Outcome = "written" | "unchanged" | "deleted";

interface FoundLog {
  readonly logId: string;
  /** The status in the list. `undefined` if the log is only in the last backup. */
  readonly status: string | undefined;
  readonly earlier: BackedUpLog | undefined;
}

/** Yields the listed logs, and then the others of the last backup, because a list can omit logs for a moment. */
async function* logsIn(
  { log }: TransferStorage<"encodedAppends">,
  archives: ReadonlyMap<string, BackedUpLog>,
): AsyncGenerator<FoundLog> {
  const listed = new Set<string>();
  for await (const { agentId: logId, status } of log.list({ readOnly: true })) {
    listed.add(logId);
    if (!omitted.includes(shapeOfStatus(status))) yield { logId, status, earlier: archives.get(logId) };
  }
  for (const earlier of archives.values())
    if (!listed.has(earlier.logId)) yield { logId: earlier.logId, status: undefined, earlier };
}

async function copyLog(
  source: TransferStorage<"encodedAppends">,
  folder: BackupFolder,
  { logId, status, earlier }: FoundLog,
): Promise<Outcome | undefined> {
  if (earlier && status !== undefined && (await endsWith(source, earlier))) return "unchanged";
  const archive = await exportLog(source, logId);
  if (archive) {
    await folder.store(logId, archive);
    return "written";
  }
  if (status === unreadable) throw new UnreadableValueError("the log has no readable id");
  return earlier && "deleted";
}

/** Returns whether the log still ends with the last append of the archive. */
async function endsWith(
  { log }: TransferStorage<"encodedAppends">,
  { logId, position, generation }: BackedUpLog,
): Promise<boolean> {
  let isSame = false;
  for await (const entry of log.read(logId, { after: position - 1 })) {
    if (isSame || entry.position !== position || entry.generation !== generation) return false;
    isSame = true;
  }
  return isSame;
}

/** The program makes rate limits and schedules again when it starts. */
const omitted: readonly LogShapeName[] = ["rate", "schedule"];
