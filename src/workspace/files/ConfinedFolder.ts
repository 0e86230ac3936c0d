import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { PathNotAllowedError } from "../../errors/workspace/PathNotAllowedError.ts";
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { foldersAbove } from "./relativePath.ts";

/** The place of a file while its folder is open. */
export interface FilePlace {
  /** Relative to the root, for messages. */
  readonly path: string;
  /** The file, reached through its open folder. */
  readonly at: string;
  /** The open folder. */
  readonly folder: string;
  /** Makes changes of the folder durable. */
  readonly sync: () => Promise<void>;
}

interface OpenFolder {
  readonly handle: FileHandle;
  readonly at: string;
}

/** Opens a folder and follows no link. */
export const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** Whether a file can be reached relative to an open folder, so that no link planted meanwhile is followed. */
export const throughHandles = process.platform === "linux" && existsSync("/proc/self/fd");

/**
 * A folder that no path below it can leave. Each folder on the way to a file is opened from the one before it, without
 * following links, so that a link planted meanwhile is refused. On Linux this uses open handles; elsewhere Node cannot open
 * relative to a handle, so each name is checked instead.
 */
export class ConfinedFolder {
  readonly root: string;
  readonly #closed = new Set<string>();

  constructor(root: string) {
    this.root = resolve(root);
  }

  /** Refuses a folder below the root from now on, with what is in it. */
  close(path: string): void {
    this.#closed.add(plain(path));
  }

  isClosed(path: string): boolean {
    if (this.#closed.size === 0) return false;
    const at = plain(path);
    return [at, ...foldersAbove(at)].some((folder) => this.#closed.has(folder));
  }

  /**
   * Runs an action with the place of a file.
   *
   * @param path as `relativePath` gives it.
   * @param made called with each folder that it creates; absent: missing folders are an error.
   * @throws PathNotAllowedError when the path leads through a link; FileAccessError.
   */
  async within<Result>(
    path: string,
    action: (place: FilePlace) => Promise<Result>,
    made?: (folder: string) => void,
  ): Promise<Result> {
    if (this.isClosed(path)) throw new PathNotAllowedError(path, "it leads into the folder of the storage");
    const names = path.split("/");
    let folder = await this.#openRoot();
    try {
      for (const at of names.slice(0, -1).keys()) {
        const next = await openChild(folder, names.slice(0, at + 1), made);
        await folder.handle.close();
        folder = next;
      }
      const { handle, at } = folder;
      return await action({ path, folder: at, at: join(at, names.at(-1) ?? ""), sync: () => syncFolder(handle) });
    } finally {
      await folder.handle.close();
    }
  }

  async #openRoot(): Promise<OpenFolder> {
    try {
      // The root is the user's own choice: it may be a link.
      const handle = await open(this.root, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
      return { handle, at: placeOf(handle, this.root) };
    } catch (error) {
      const reason = `cannot be used: the root ${JSON.stringify(this.root)} ${systemReason(error)}`;
      throw new FileAccessError(".", reason, { cause: error });
    }
  }
}

/** Other systems than Linux have one file by names that differ in case. */
function plain(path: string): string {
  return process.platform === "linux" ? path : path.toLowerCase();
}

async function openChild(
  parent: OpenFolder,
  names: readonly string[],
  made: ((folder: string) => void) | undefined,
): Promise<OpenFolder> {
  const at = join(parent.at, names.at(-1) ?? "");
  const path = names.join("/");
  try {
    if (!throughHandles && (await lstat(at)).isSymbolicLink()) throw new PathNotAllowedError(path, "it is a link");
    const handle = await open(at, folderFlags);
    return { handle, at: placeOf(handle, at) };
  } catch (error) {
    if (!made || (error as NodeJS.ErrnoException).code !== "ENOENT") throw await refusal(error, at, path);
  }
  await mkdir(at).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      throw new FileAccessError(path, systemReason(error), { cause: error });
  });
  made(path);
  await syncFolder(parent.handle);
  return openChild(parent, names, undefined);
}

function placeOf(handle: FileHandle, path: string): string {
  return throughHandles ? `/proc/self/fd/${handle.fd}` : path;
}

async function refusal(error: unknown, at: string, path: string): Promise<Error> {
  if (error instanceof PathNotAllowedError) return error;
  const found = await lstat(at).catch(() => undefined);
  if (found?.isSymbolicLink()) return new PathNotAllowedError(path, "it leads through a link");
  return new FileAccessError(path, systemReason(error), { cause: error });
}

async function syncFolder(handle: FileHandle): Promise<void> {
  // Windows cannot sync a folder; its file systems journal names.
  if (process.platform !== "win32") await handle.sync();
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is not in a folder: a part of its path is a file",
  EISDIR: "is a folder",
  EACCES: "is not accessible to this process",
  EPERM: "is not accessible to this process",
  ENOSPC: "does not fit: the disk is full",
  EROFS: "is on a read-only disk",
  ENAMETOOLONG: "has a name that is too long",
};

/** The meaning of a file system error; follows the path in messages. */
export function systemReason(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return reasons[code] ?? `cannot be used: ${code === "" ? message : `the file system says ${code}`}`;
}
