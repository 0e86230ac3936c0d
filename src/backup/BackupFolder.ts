import { createReadStream } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { InvalidInputError } from "../errors/agentErrors.ts";
import { quoted } from "../errors/AgentPersistenceError.ts";
import { AgentBusyError, BackupBusyError, OwnershipLostError, StorageError } from "../errors/storageErrors.ts";
import { InvalidArchiveError } from "../errors/storedDataErrors.ts";
import { systemClock } from "../internal/Clock.ts";
import { nodeSha256 } from "../internal/sha256/nodeSha256.ts";
import { nodeFileSystem } from "../nodejs/nodeFileSystem.ts";
import { Disk, storageFailure, systemCode } from "../nodejs/Disk.ts";
import { FileRecordLog } from "../storage/file/FileRecordLog.ts";
import type { OwnedLog } from "../storage/RecordLog.ts";
import { processOwner } from "../storage/ReleasableLog.ts";
import { headerShape } from "../transfer/format/archiveFormat.ts";
import { parsedJson } from "../internal/parsedJson.ts";

export interface BackedUpLog {
  readonly logId: string;
  /** The kind of the log. `undefined` for an agent. */
  readonly shape: string | undefined;
  /** The position of the last append in the archive, and the generation of its owner. */
  readonly position: number;
  readonly generation: number;
  /** The checksum of the last append. `undefined` in archives of earlier versions. */
  readonly checksum: string | undefined;
  /** The id of the key that encrypted the archive. `undefined` for a plain archive. */
  readonly keyId: string | undefined;
  readonly file: string;
}

const mark = { backup: 1, library: "agent-persistence" } as const;
const markSchema = z.lazy(() => z.object({ backup: z.literal(mark.backup), library: z.literal(mark.library) }));
const headerSchema = z.lazy(() => z.object({ ...headerShape, keyId: z.string().optional() }));
const archiveName = /^[0-9a-f]{40}\.archive$/;
const lockName = "lock";
const lockId = "backup";
/** The names of the files that {@link write} renames at its end. A user's file never has such a name. */
const unfinishedName = /^(?:backup\.json|[0-9a-f]{40}\.archive)\.[0-9a-f-]{36}\.unfinished$/;
/** The number of bytes that are read to find the first line of an archive. The line is shorter. */
const headerBytes = 16 * 1024;
const disk = new Disk(nodeFileSystem, systemClock);

/** The directory of a backup: a marker file and one archive for each log. Failures throw StorageError. */
export class BackupFolder {
  readonly #path: string;
  readonly #mark: string;
  readonly #logs: string;
  readonly #locks: FileRecordLog;
  /** The generation of the lock that this process owns. */
  #generation = 0;

  constructor(directory: string) {
    this.#path = resolve(directory);
    this.#locks = new FileRecordLog({ directory: join(this.#path, lockName) });
    this.#mark = join(this.#path, "backup.json");
    this.#logs = join(this.#path, "logs");
  }

  /**
   * Creates the directory, or continues a backup in it. Removes the unfinished files of earlier backups. Until you
   * release the result, no other backup can use the directory.
   *
   * @throws InvalidInputError if the directory has other content.
   * @throws BackupBusyError if another backup writes into the directory.
   */
  async begin(): Promise<OwnedLog> {
    const isEmpty = async () =>
      (await names(this.#path)).every((name) => name === lockName || unfinishedName.test(name));
    if (!(await isEmpty())) await this.assertBackup();
    // Creates the directory durably.
    const lock = await this.#lock();
    try {
      if (await isEmpty()) await write(this.#mark, [Buffer.from(`${JSON.stringify(mark)}\n`)]);
      // Without a durable mark, a directory with archives is rejected after a power loss.
      await disk.fsyncDir(this.#path);
      await disk.mkdir(this.#logs);
      if ((await disk.stat(this.#logs))?.folder !== true) throw this.#otherContent();
      for (const path of [this.#path, this.#logs]) await removeUnfinished(path);
      return lock;
    } catch (error) {
      await lock.release().catch(() => {});
      throw error;
    }
  }

  /** Locks the directory by owning a log in it. Another process can own the log after this process has ended. */
  async #lock(): Promise<OwnedLog> {
    try {
      const lock = await this.#locks.open(lockId, processOwner());
      this.#generation = lock.generation;
      return lock;
    } catch (error) {
      if (!(error instanceof AgentBusyError)) throw error;
      throw new BackupBusyError(this.#path, error.owner, { cause: error });
    }
  }

  /** @throws InvalidInputError if the directory has no backup of this version. */
  async assertBackup(): Promise<void> {
    const text = (await disk.readFile(this.#mark))?.toString();
    if (markSchema.safeParse(parsedJson(text ?? "")).success) return;
    throw this.#otherContent(text === undefined ? "none" : undefined);
  }

  #otherContent(found = "other content"): InvalidInputError {
    const expected = `expected a backup of this version in ${quoted(this.#path)}, found ${found}`;
    return new InvalidInputError("options of a backup", [{ path: "directory", expected }]);
  }

  /** Returns the readable archives by the id of their log, and the files whose first line cannot be read. */
  async read(): Promise<{
    readonly archives: ReadonlyMap<string, BackedUpLog>;
    readonly damaged: readonly { readonly file: string; readonly error: unknown }[];
  }> {
    const archives = new Map<string, BackedUpLog>();
    const damaged: { readonly file: string; readonly error: unknown }[] = [];
    for (const name of await names(this.#logs)) {
      if (!archiveName.test(name)) continue;
      const file = join(this.#logs, name);
      try {
        const archive = archiveIn(file, await firstLine(file));
        if (name !== nameOf(archive.logId)) throw new InvalidArchiveError("its name belongs to another log");
        archives.set(archive.logId, archive);
      } catch (error) {
        damaged.push({ file, error });
      }
    }
    return { archives, damaged };
  }

  /**
   * Replaces the archive of a log durably.
   *
   * @throws OwnershipLostError if another backup has taken over the directory
   */
  async store(logId: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await write(join(this.#logs, nameOf(logId)), bytes, () => this.#assertLocked());
    } catch (error) {
      await this.#assertLocked();
      throw error;
    }
  }

  /** @throws OwnershipLostError if another backup owns the directory by now. */
  async remove(file: string): Promise<void> {
    await this.#assertLocked();
    await disk.unlink(file);
  }

  async #assertLocked(): Promise<void> {
    const owner = await this.#locks.owner(lockId);
    if (owner?.generation !== this.#generation)
      throw new OwnershipLostError(lockId, this.#generation, owner?.generation);
  }

  async *bytesOf(file: string): AsyncGenerator<Uint8Array> {
    try {
      yield* createReadStream(file) as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw typed("read", file, error);
    }
  }

  /** Makes the names of all files durable. */
  async sync(): Promise<void> {
    for (const path of [this.#logs, this.#path, dirname(this.#path)]) await disk.fsyncDir(path);
  }
}

/** @throws InvalidArchiveError for a damaged line */
function archiveIn(file: string, line: string): BackedUpLog {
  const header = headerSchema.safeParse(parsedJson(line)).data;
  if (!header) throw new InvalidArchiveError("its first line is damaged");
  const { agentId: logId, position, generation, checksum, shape, keyId } = header;
  return { logId, shape, position, generation, checksum, keyId, file };
}

function nameOf(logId: string): string {
  return `${nodeSha256.hex(logId).slice(0, 40)}.archive`;
}

/** Removes unfinished files of earlier backups. A backup that was only suspended then fails to rename its file. */
async function removeUnfinished(path: string): Promise<void> {
  for (const name of (await names(path)).filter((each) => unfinishedName.test(each)))
    await disk.unlink(join(path, name));
}

/** @param beforeRename - called when all bytes are durable. If the callback rejects, the file stays unchanged. */
async function write(
  file: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  beforeRename?: () => Promise<void>,
): Promise<void> {
  const unfinished = `${file}.${crypto.randomUUID()}.unfinished`;
  await onDisk("write", file, async () => {
    const opened = await open(unfinished, "wx", 0o600);
    try {
      await pipeline(bytes, opened.createWriteStream({ flush: true }));
      await beforeRename?.();
      await rename(unfinished, file);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  });
}

/** Returns the sorted names in a directory, and no names if the directory does not exist. */
async function names(path: string): Promise<readonly string[]> {
  return onDisk("readdir", path, async () => ((await readdir(path).catch(orMissing)) ?? []).toSorted());
}

async function firstLine(file: string): Promise<string> {
  const bytes = (await disk.readFile(file, 0, headerBytes)) ?? Buffer.alloc(0);
  return bytes.toString("utf8", 0, Math.max(0, bytes.indexOf("\n")));
}

async function onDisk<Result>(operation: string, path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw typed(operation, path, error);
  }
}

/** Wraps an error of Node in a `StorageError`. Other errors, such as errors of the copied storage, stay unchanged. */
function typed(operation: string, path: string, error: unknown): unknown {
  const isOfNode = error instanceof Error && "syscall" in error && systemCode(error) !== "";
  return isOfNode ? new StorageError(storageFailure(error), operation, path, { cause: error }) : error;
}

function orMissing(error: unknown): undefined {
  if (systemCode(error) !== "ENOENT") throw error;
}
