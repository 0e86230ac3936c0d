import type { LogShapeName } from "../errors/storedDataErrors.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { abortSignalSchema, functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { shapeOfStatus } from "../storage/summaries.ts";
import { exportLog } from "../transfer/exportAgent.ts";
import { logOf, type TransferStorage } from "../transfer/logOf.ts";
import { BackupFolder, type BackedUpKind, type BackedUpLog } from "./BackupFolder.ts";
import { isAboutOneLog } from "./isAboutOneLog.ts";

/** Options of {@link backupStorage}. */
export interface BackupOptions {
  /** The directory of the backup. It is created, and must be empty or contain an earlier backup of the storage. */
  readonly directory: string;
  /** Called after each log with the number of finished logs. Must not throw. */
  readonly onProgress?: ((finished: number) => void) | undefined;
  /** Stops the backup with the signal's reason. The directory stays a valid backup. Defaults to no signal. */
  readonly signal?: AbortSignal | undefined;
}

/** A log whose copy failed, and why. */
export interface FailedLog {
  readonly logId: string;
  readonly error: unknown;
}

/** The result of {@link backupStorage}. Each log is in one of the lists. */
export interface BackupReport {
  /** The logs that were written, because they are new or changed since the last backup. */
  readonly written: readonly string[];
  /** The logs that did not change since the last backup. */
  readonly unchanged: readonly string[];
  /** The logs that the storage no longer has. Their archives were removed. */
  readonly removed: readonly string[];
  /** The logs that cannot be read. Their earlier archives are kept. */
  readonly failed: readonly FailedLog[];
}

export const backupOptionsSchema = strictOptions(() => ({
  directory: nonEmptyString,
  onProgress: functionSchema().optional(),
  signal: abortSignalSchema.optional(),
}));

/**
 * Copies all agents, threads, sessions and inboxes of a storage into a directory, while programs use the storage. Each
 * log is copied as it was at one moment. A repeated backup into the same directory writes only the changed logs, and
 * removes deleted ones. Rate limits, schedules and moved agents are omitted.
 *
 * If the process ends during a backup, each archive in the directory is either the earlier or the new one.
 *
 * @throws InvalidInputError if the directory has other content.
 * @throws NotSupportedError if the storage cannot list or return its logs.
 * @example
 * ```ts
 * const { written } = await backupStorage(storage, { directory: "/backups/agents" });
 * ```
 */
export async function backupStorage(
  storage: PersistenceStorageProvider,
  options: BackupOptions,
): Promise<BackupReport> {
  checkSchema(backupOptionsSchema, options, "options of backupStorage()");
  const source = logOf(storage, "encodedAppends", "backupStorage()");
  const folder = new BackupFolder(options.directory);
  await folder.begin();
  const { archives } = await folder.read();
  const report: Record<Outcome, string[]> & { readonly failed: FailedLog[] } = {
    written: [],
    unchanged: [],
    removed: [],
    failed: [],
  };
  let finished = 0;
  for await (const log of logsIn(source, archives)) {
    options.signal?.throwIfAborted();
    try {
      const outcome = await copyLog(source, folder, log);
      if (outcome) report[outcome].push(log.logId);
    } catch (error) {
      if (!isAboutOneLog(error)) throw error;
      report.failed.push({ logId: log.logId, error });
    }
    options.onProgress?.(++finished);
  }
  await folder.sync();
  return report;
}

type Outcome = "written" | "unchanged" | "removed";

interface FoundLog {
  readonly logId: string;
  readonly kind: BackedUpKind;
  readonly isListed: boolean;
  readonly earlier: BackedUpLog | undefined;
}

/** Yields the listed logs, and then the others of the last backup, because a list can omit logs for a moment. */
async function* logsIn(
  { log }: TransferStorage<"encodedAppends">,
  archives: ReadonlyMap<string, BackedUpLog>,
): AsyncGenerator<FoundLog> {
  const listed = new Set<string>();
  for await (const { agentId: logId, status } of log.list({ readOnly: true })) {
    const kind = kinds[shapeOfStatus(status)];
    listed.add(logId);
    if (kind) yield { logId, kind, isListed: true, earlier: archives.get(logId) };
  }
  for (const earlier of archives.values())
    if (!listed.has(earlier.logId)) yield { logId: earlier.logId, kind: earlier.kind, isListed: false, earlier };
}

async function copyLog(
  source: TransferStorage<"encodedAppends">,
  folder: BackupFolder,
  { logId, kind, isListed, earlier }: FoundLog,
): Promise<Outcome | undefined> {
  if (earlier && isListed && !(await hasMore(source, earlier))) return "unchanged";
  const archive = await exportLog(source, logId);
  if (archive) {
    await folder.store(logId, kind, archive);
    return "written";
  }
  if (!earlier) return undefined;
  await folder.remove(earlier.file);
  return "removed";
}

/** Returns whether the log has appends after the archived ones. */
async function hasMore({ log }: TransferStorage<"encodedAppends">, { logId, position }: BackedUpLog): Promise<boolean> {
  for await (const _ of log.read(logId, { after: position })) return true;
  return false;
}

/** The program makes rate limits and schedules again when it starts. */
const kinds: Readonly<Record<LogShapeName, BackedUpKind | undefined>> = {
  agent: "agent",
  thread: "log",
  session: "log",
  inbox: "log",
  rate: undefined,
  schedule: undefined,
};
