import { FileAccessError, PathNotAllowedError } from "../../errors/workspaceErrors.ts";
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { foldersAbove } from "./relativePath.ts";

/** The location of a file while its directory is open. */
export interface FilePlace {
  /** Relative to the root, for messages. */
  readonly path: string;
  /** The file path through the open directory. */
  readonly at: string;
  readonly folder: string;
  readonly sync: () => Promise<void>;
}

interface OpenFolder {
  readonly handle: FileHandle;
  readonly at: string;
}

/** Flags to open a directory without following links. */
export const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
/** Whether files can be opened relative to an open directory, so that links created later are not followed. */
export const throughHandles = process.platform === "linux" && existsSync("/proc/self/fd");

/**
 * A directory that no relative path can leave. Each directory on the way to a file is opened from its parent without
 * following links. On Linux this uses open handles. On other systems Node cannot open relative to a handle, so each
 * name is checked instead.
 */
export class ConfinedFolder {
  readonly root: string;
  readonly #closed = new Set<string>();

  constructor(root: string) {
    this.root = resolve(root);
  }

  /** Denies access to a subdirectory and its contents from now on. */
  close(path: string): void {
    this.#closed.add(plain(path));
  }

  isClosed(path: string): boolean {
    if (this.#closed.size === 0) return false;
    const at = plain(path);
    return [at, ...foldersAbove(at)].some((folder) => this.#closed.has(folder));
  }

  /**
   * Runs an action with the location of a file.
   *
   * @param path in the form of `relativePath`
   * @param made called with each created directory. Without it, a missing directory is an error.
   * @throws PathNotAllowedError if the path contains a link
   * @throws FileAccessError
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
      // The root may be a link, because the user chose it.
      const handle = await open(this.root, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
      return { handle, at: placeOf(handle, this.root) };
    } catch (error) {
      const reason = `cannot be used: the root ${JSON.stringify(this.root)} ${systemReason(error)}`;
      throw new FileAccessError(".", reason, { cause: error });
    }
  }
}

/** On systems other than Linux, names that differ only in case denote the same file. */
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
  // Windows cannot sync a directory. Its file systems journal names.
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

/** Returns the meaning of a file system error, as the end of a sentence that starts with the path. */
export function systemReason(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return reasons[code] ?? `cannot be used: ${code === "" ? message : `the file system says ${code}`}`;
}
