import type { Clock } from "../internal/Clock.ts";
import type { FileSystem, OpenFile } from "./FileSystem.ts";
import { StorageError, type StorageFailure } from "../errors/storageErrors.ts";
import { constants } from "node:os";
import { dirname } from "node:path";

/** The delays before retries of a call that may soon succeed, in milliseconds. */
const retryDelaysMs = [5, 20, 80, 320];
const notEmpty = new Set(["ENOTEMPTY", "EEXIST"]);
const linkUnsupported = new Set(["EPERM", "EISDIR", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

/** A file system whose methods return `undefined` or `false` in expected cases. Other failures throw `StorageError`. */
export class Disk {
  readonly #system: FileSystem;
  readonly #clock: Clock;
  readonly #folders: FolderSyncs;

  constructor(system: FileSystem, clock: Clock) {
    this.#system = system;
    this.#clock = clock;
    this.#folders = new FolderSyncs((path) => this.#syncFolder(path));
  }

  /** Returns `undefined` if the name is in use. */
  create(path: string, options?: { readonly synced?: boolean }): Promise<DiskFile | undefined> {
    const create = async () => new DiskFile(path, await this.#system.create(path, options));
    return this.#call("create", path, "EEXIST", create);
  }

  readFile(path: string, start?: number, length?: number): Promise<Buffer | undefined> {
    return this.#call("read", path, "ENOENT", async () => asBuffer(await this.#system.readFile(path, start, length)));
  }

  stat(path: string): Promise<Awaited<ReturnType<FileSystem["stat"]>> | undefined> {
    return this.#call("stat", path, "ENOENT", () => this.#system.stat(path));
  }

  readdir(path: string): Promise<readonly string[] | undefined> {
    return this.#call("readdir", path, "ENOENT", () => this.#system.readdir(path));
  }

  /** Returns `missing` if the existing file or the target directory is missing. */
  async link(existing: string, path: string): Promise<"linked" | "taken" | "missing" | "unsupported"> {
    try {
      await this.#system.link(existing, path);
      return "linked";
    } catch (error) {
      if (systemCode(error) === "EEXIST") return "taken";
      if (systemCode(error) === "ENOENT") return "missing";
      if (linkUnsupported.has(systemCode(error))) return "unsupported";
      throw diskError("link", path, error);
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#call("rename", to, undefined, () => this.#system.rename(from, to));
  }

  /** Removes a file. Does nothing if the file is missing. */
  async unlink(path: string): Promise<void> {
    await this.#call("unlink", path, "ENOENT", () => this.#system.unlink(path));
  }

  /** Returns `false` if the name is in use. */
  async mkdir(path: string): Promise<boolean> {
    const create = async () => {
      await this.#system.mkdir(path);
      return true;
    };
    return (await this.#call("mkdir", path, "EEXIST", create)) ?? false;
  }

  /**
   * Creates a directory, which may be a link, and its parents, which may be unreadable.
   *
   * @returns the syncs that make all of them durable
   */
  async mkdirs(path: string): Promise<readonly (() => Promise<void>)[]> {
    const found = await this.stat(path);
    const parent = dirname(path);
    const above = found === undefined && parent !== path ? await this.mkdirs(parent) : [];
    if (found === undefined) await this.mkdir(path);
    const sync = () =>
      this.fsyncDir(parent).catch((error: unknown) => {
        if (found === undefined) throw error;
      });
    return [...above, sync];
  }

  /** Removes an empty directory. Does nothing if the directory is missing or not empty. */
  async rmdir(path: string): Promise<void> {
    const remove = () =>
      this.#system.rmdir(path).catch((error: unknown) => {
        if (!notEmpty.has(systemCode(error))) throw error;
      });
    await this.#call("rmdir", path, "ENOENT", remove);
  }

  fsyncDir(path: string): Promise<void> {
    return this.#folders.sync(path);
  }

  async #syncFolder(path: string): Promise<void> {
    await this.#call("fsync", path, undefined, () => this.#system.fsyncDir(path));
  }

  async #call<Result>(
    operation: string,
    path: string,
    expected: string | undefined,
    action: () => Promise<Result>,
    attempt = 0,
  ): Promise<Result | undefined> {
    try {
      return await action();
    } catch (error) {
      if (systemCode(error) === expected || (expected === "ENOENT" && systemCode(error) === "ENOTDIR"))
        return undefined;
      const delayMs = retryDelaysMs[attempt];
      if (!isPassing(operation, error) || delayMs === undefined) throw diskError(operation, path, error);
      await new Promise<void>((resolve) => this.#clock.after(delayMs, resolve));
      return this.#call(operation, path, expected, action, attempt + 1);
    }
  }
}

const heldCodes = new Set(["EPERM", "EACCES", "EBUSY"]);
const refusedIfHeld = new Set(["rename", "unlink"]);

/** Returns whether a call may soon succeed: file descriptors are missing, or a program on Windows holds the file. */
function isPassing(operation: string, error: unknown): boolean {
  const isHeld = process.platform === "win32" && refusedIfHeld.has(operation) && heldCodes.has(systemCode(error));
  return isHeld || storageFailure(error) === "too_many_files";
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Syncs directories. Calls that are made during a sync share the next sync. */
export class FolderSyncs {
  readonly #begin: (path: string) => Promise<void>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  constructor(begin: (path: string) => Promise<void>) {
    this.#begin = begin;
  }

  /** Resolves after a sync that started after this call. */
  sync(path: string): Promise<void> {
    const running = this.#running.get(path);
    if (!running) return this.#run(path);
    const next = this.#next.get(path) ?? running.catch(() => {}).then(() => this.#runNext(path));
    this.#next.set(path, next);
    return next;
  }

  #runNext(path: string): Promise<void> {
    this.#next.delete(path);
    return this.#run(path);
  }

  #run(path: string): Promise<void> {
    const running = this.#begin(path).finally(() => this.#running.delete(path));
    this.#running.set(path, running);
    return running;
  }
}

/** An open file whose writes are complete. Failures throw `StorageError`. */
export class DiskFile {
  readonly #file: OpenFile;

  constructor(
    readonly path: string,
    file: OpenFile,
  ) {
    this.#file = file;
  }

  /** Writes all bytes. After a failure, a part of the bytes may be in the file. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#writeAll(bytes, (part) => this.#file.write(part));
  }

  /** Writes all bytes to the device. After a failure, a part of the bytes may be in the file. */
  async store(bytes: Uint8Array): Promise<void> {
    const { writeSynced } = this.#file;
    if (writeSynced) return this.#writeAll(bytes, (part) => writeSynced(part));
    await this.write(bytes);
    await this.#call("fdatasync");
  }

  fsync(): Promise<void> {
    return this.#call("fsync");
  }

  close(): Promise<void> {
    return this.#call("close");
  }

  async #writeAll(bytes: Uint8Array, write: (part: Uint8Array) => Promise<number>): Promise<void> {
    try {
      let written = await write(bytes);
      while (written < bytes.length) {
        const count = await write(bytes.subarray(written));
        // Prevents an endless loop if a device writes 0 bytes without an error.
        if (count === 0) throw new StorageError("full", "write", this.path);
        written += count;
      }
    } catch (error) {
      throw diskError("write", this.path, error);
    }
  }

  async #call(operation: "fdatasync" | "fsync" | "close"): Promise<void> {
    try {
      await this.#file[operation]();
    } catch (error) {
      throw diskError(operation, this.path, error);
    }
  }
}

const failures: Readonly<Record<string, StorageFailure>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  EACCES: "permission",
  EPERM: "permission",
  EROFS: "permission",
  ELOOP: "permission",
  EMFILE: "too_many_files",
  ENFILE: "too_many_files",
  ENOENT: "unavailable",
  ENOTDIR: "unavailable",
  ESTALE: "unavailable",
  ETIMEDOUT: "unavailable",
  ENODEV: "unavailable",
  ENOTCONN: "unavailable",
};

/** Names of system errors by number, because Node does not name some errors, for example `EDQUOT` and `ESTALE`. */
const codes: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.errno).map(([code, number]) => [-number, code]),
);

export function systemCode(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown };
  if (typeof code !== "string") return "";
  return (code.startsWith("Unknown system error") ? codes.get(Number(errno)) : undefined) ?? code;
}

/** Classifies a system error by the reaction that it needs. */
export function storageFailure(error: unknown): StorageFailure {
  return failures[systemCode(error)] ?? "io";
}

function diskError(operation: string, path: string, cause: unknown): StorageError {
  return cause instanceof StorageError ? cause : new StorageError(storageFailure(cause), operation, path, { cause });
}
