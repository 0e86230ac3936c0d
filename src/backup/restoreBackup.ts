import { AlreadyExistsError, StorageError } from "../errors/storageErrors.ts";
import { systemClock } from "../internal/Clock.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { abortSignalSchema, functionSchema, nonEmptyString, numberFrom } from "../internal/options/optionSchemas.ts";
import { awayStatuses } from "../journal/assertCustody.ts";
import { type KeySource, keySourceSchema } from "../storage/KeySource.ts";
import type { LogStorage, PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import { keyStatus, shapeOfStatus } from "../storage/summaries.ts";
import { openForMove } from "../transfer/exportAgent.ts";
import { receiveAgent, receiveLog } from "../transfer/importAgent.ts";
import { logOf } from "../transfer/logOf.ts";
import { BackupFolder, type BackedUpLog } from "./BackupFolder.ts";
import { type BackupOptions, type FailedLog, isAboutOneLog } from "./backupStorage.ts";

/** Options of {@link restoreBackup}. */
export interface RestoreOptions extends Pick<BackupOptions, "onProgress" | "signal"> {
  /** The directory of the backup. */
  readonly directory: string;
  /** The largest line or value that an archive may contain, in bytes. Defaults to no limit. */
  readonly maxPartBytes?: number | undefined;
  /**
   * The keys of an encrypted backup. With this option, plain archives are rejected. Defaults to the keys of an
   * encrypted target, which also accepts plain archives.
   */
  readonly keys?: KeySource | undefined;
}

const optionsSchema = strictOptions(() => ({
  directory: nonEmptyString,
  onProgress: functionSchema().optional(),
  maxPartBytes: numberFrom(1).optional(),
  keys: keySourceSchema.optional(),
  signal: abortSignalSchema.optional(),
}));

/** The result of {@link restoreBackup}. */
export interface RestoreReport {
  /** The restored logs. */
  readonly restored: readonly string[];
  /** The logs that the storage already had, for example from an interrupted restore, and that are unchanged. */
  readonly existing: readonly string[];
  /**
   * The logs whose archives cannot be read, for example because a key is missing. If an archive has no readable id, its
   * file name is listed. All other logs were restored.
   */
  readonly failed: readonly FailedLog[];
}

/**
 * Restores a backup into a storage of any kind. Existing logs stay unchanged, so a restore can be repeated.
 *
 * A restored agent has the status `copied`, because the agent may have made calls after the backup. `run` and `resume`
 * reject with `agent_copied` until you check the effects of these calls and pass `takeOver: true`. Approvals are
 * requested again. Threads and sessions do not have this status, so check their effects before you continue them.
 *
 * @throws InvalidInputError if the directory has no backup.
 * @throws NotSupportedError if the storage cannot receive logs.
 */
export async function restoreBackup(
  storage: PersistenceStorageProvider,
  options: RestoreOptions,
): Promise<RestoreReport> {
  checkSchema(optionsSchema, options, "options of restoreBackup()");
  const target = logOf(storage, "receive", "restoreBackup()");
  const folder = new BackupFolder(options.directory);
  await folder.assertBackup();
  const { archives, damaged } = await folder.read();
  const report = {
    restored: [] as string[],
    existing: [] as string[],
    failed: damaged.map(({ file, error }): FailedLog => ({ logId: file, error })),
  };
  let finished = 0;
  const { maxPartBytes = Infinity, keys } = options;
  const restore = async ({ shape, file }: BackedUpLog): Promise<void> => {
    const stream = folder.bytesOf(file);
    const receive = shape === undefined ? receiveAgent : receiveLog;
    await receive(target, stream, { maxPartBytes, keys });
  };
  for (const archive of archives.values()) {
    options.signal?.throwIfAborted();
    const { logId, file } = archive;
    try {
      await restore(archive);
      report.restored.push(logId);
    } catch (error) {
      if (error instanceof AlreadyExistsError) report.existing.push(logId);
      else if (isAboutOneLog(error) || (error instanceof StorageError && error.path === file))
        report.failed.push({ logId, error });
      else throw error;
    }
    options.onProgress?.(++finished);
  }
  return report;
}

/** The result of {@link markRestored}. */
export interface MarkReport {
  /** The agents that now have the status `copied`. */
  readonly marked: readonly string[];
  /** The agents that could not be marked, for example because a process runs them. */
  readonly failed: readonly FailedLog[];
}

/**
 * Marks all agents of a storage as `copied`. Call this after you restored a database or a directory with other tools,
 * and before any program runs the agents, because the agents may have made calls after the backup. `run` and `resume`
 * then reject with `agent_copied` until you check the effects of these calls and pass `takeOver: true`. Repeated calls
 * are allowed. Agents that are moving, moved or copied stay unchanged.
 *
 * @throws NotSupportedError if the storage cannot list or return its logs.
 */
export async function markRestored(storage: PersistenceStorageProvider): Promise<MarkReport> {
  const source = logOf(storage, "encodedAppends", "markRestored()");
  const [marked, failed]: [string[], FailedLog[]] = [[], []];
  const found: string[] = [];
  for await (const { agentId, status } of source.log.list())
    if (shapeOfStatus(status) === "agent" && status !== keyStatus && !awayStatuses.has(status)) found.push(agentId);
  for (const agentId of found) {
    try {
      await markCopied(source, agentId);
      marked.push(agentId);
    } catch (error) {
      failed.push({ logId: agentId, error });
    }
  }
  return { marked, failed };
}

async function markCopied(source: LogStorage, agentId: string): Promise<void> {
  await using journal = await openForMove(source, agentId);
  await journal.store([{ kind: "custody", state: "copied", at: systemClock.now() }]);
}
