import { resolve } from "node:path";
import { BackupFolder } from "../../backup/BackupFolder.ts";
import { backupStorage, type FailedLog, markRestored, restoreBackup } from "../../backup.ts";
import type { ExitReason } from "../terminal/CommandFailure.ts";
import { archiveKeys, type ArchiveKeyOptions, newArchiveKeys } from "../session/loadExport.ts";
import type { CommonOptions, Session, WritingOptions } from "../session/Session.ts";
import { assertFolder } from "../storage/commandFiles.ts";
import { reasonOfParts } from "../terminal/failureReport.ts";
import { type Output, withProgress } from "../terminal/Output.ts";
import { counted } from "../terminal/shortTexts.ts";

interface BackupCommandOptions extends CommonOptions, ArchiveKeyOptions {
  readonly removeDeleted?: boolean | undefined;
}

export async function backup(
  session: Session,
  options: BackupCommandOptions,
  given: string,
): Promise<ExitReason | void> {
  const { output, io } = session;
  const keys = await newArchiveKeys(io, options);
  const storage = await session.storage("read");
  const directory = resolve(io.cwd, given);
  const { written, unchanged, deleted, failed } = await withProgress(output, "Backing up", (tell) =>
    backupStorage(storage, {
      directory,
      keys,
      removeDeleted: options.removeDeleted,
      onProgress: (finished) => tell(counted(finished, "log")),
    }),
  );
  return print(output, { directory, written, unchanged, deleted }, failed, [
    `Backed up into ${directory}: ${counted(written.length, "log")} written, `,
    `${unchanged.length} unchanged, ${deleted.length} deleted.`,
  ]);
}

/** `restore <folder>`: copies a backup into the storage. */
export async function restore(
  session: Session,
  options: WritingOptions & ArchiveKeyOptions,
  given: string,
): Promise<ExitReason | void> {
  const { output, io } = session;
  const keys = await archiveKeys(io, options);
  const directory = resolve(io.cwd, given);
  await assertFolder(directory);
  await new BackupFolder(directory).assertBackup();
  const name = await session.storageName();
  await session.confirm([`The agents in ${directory} will be copied into ${name}. They run only after a takeover.`]);
  const storage = await session.storage("make");
  const { restored, existing, failed } = await withProgress(output, "Restoring", (tell) =>
    restoreBackup(storage, { directory, keys, onProgress: (finished) => tell(counted(finished, "log")) }),
  );
  return print(output, { directory, restored, existing }, failed, [
    `Restored ${counted(restored.length, "log")}. ${counted(existing.length, "log")} already existed.`,
  ]);
}

export async function markAllRestored(session: Session): Promise<ExitReason | void> {
  const { output } = session;
  const { storage, name } = await session.open("write");
  await session.confirm([`All agents in ${name} will be marked as copies. They run only after a takeover.`]);
  const { marked, failed } = await markRestored(storage);
  return print(output, { marked }, failed, [`Marked ${counted(marked.length, "agent")} as copied.`]);
}

async function print(
  output: Output,
  report: Readonly<Record<string, unknown>>,
  failed: readonly FailedLog[],
  text: readonly string[],
): Promise<ExitReason | void> {
  const failures = failed.map(({ logId, error }) => ({ logId, message: (error as Error).message }));
  await output.result({ ...report, failed: failures }, ...text);
  for (const { logId, message } of failures) await output.note(`${logId} failed: ${message}`);
  return reasonOfParts(failed.map(({ error }) => error));
}
