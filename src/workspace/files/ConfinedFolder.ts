import { lstatSync, mkdirSync, type Stats } from "node:fs";
import { resolve } from "node:path";
import { FileAccessError, PathNotAllowedError } from "../../errors/workspaceErrors.ts";
import { OpenFolder, throughHandles } from "./OpenFolder.ts";
import { foldersAbove } from "./relativePath.ts";
import { Slice } from "./Slice.ts";

/** The location of a file while its directory is open. */
export interface FilePlace {
  /** Relative to the root, for messages. */
  readonly path: string;
  /** The file path through the open directory. */
  readonly at: string;
  readonly folder: string;
  readonly sync: () => Promise<void>;
  /** The current slice of work on the files of the root. */
  readonly slice: Slice;
}

/**
 * A directory that no relative path can leave. Opens each directory on the way to a file from its parent, without
 * following links. Uses open handles on Linux. On other systems, Node cannot open a file relative to a handle, so each
 * name is checked for a link.
 */
export class ConfinedFolder {
  readonly root: string;
  readonly #closed = new Set<string>();
  readonly #slice = new Slice();

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

  /** @throws PathNotAllowedError if the path is in a closed directory */
  assertOpen(path: string): void {
    if (this.isClosed(path)) throw new PathNotAllowedError(path, "it leads into the folder of the storage");
  }

  /**
   * Runs an action with the location of a file. Creates missing directories if `made` is given, and calls `made` with
   * each created directory.
   *
   * @throws PathNotAllowedError for a link, FileAccessError
   */
  async within<Result>(
    path: string,
    action: (place: FilePlace) => Result | Promise<Result>,
    made?: (folder: string) => void,
  ): Promise<Result> {
    this.assertOpen(path);
    while (this.#slice.isOver) await this.#slice.turn();
    const names = path.split("/");
    let folder = this.#openRoot();
    try {
      for (const at of names.slice(0, -1).keys()) {
        const parent = folder;
        const below = names.slice(0, at + 1);
        folder = openChild(parent, below, made !== undefined) ?? (await makeChild(parent, below, made));
        parent.close();
      }
      const { at } = folder;
      const open = folder;
      const sync = () => open.sync();
      return await action({ path, folder: at, at: `${at}/${names.at(-1)}`, sync, slice: this.#slice });
    } finally {
      folder.close();
    }
  }

  #openRoot(): OpenFolder {
    try {
      return OpenFolder.root(this.root);
    } catch (error) {
      throw rootRefusal(this.root, error);
    }
  }
}

/** On systems other than Linux, names that differ only in case denote the same file. */
function plain(path: string): string {
  return process.platform === "linux" ? path : path.toLowerCase();
}

/** @returns `undefined` if the directory is missing and `mayBeMissing` */
function openChild(parent: OpenFolder, names: readonly string[], mayBeMissing: boolean): OpenFolder | undefined {
  const name = names.at(-1) ?? "";
  const at = `${parent.at}/${name}`;
  try {
    if (!throughHandles && lstatSync(at).isSymbolicLink())
      throw new PathNotAllowedError(names.join("/"), "it is a link");
    return parent.child(name);
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw refusal(error, at, names.join("/"));
  }
}

async function makeChild(
  parent: OpenFolder,
  names: readonly string[],
  made: ((folder: string) => void) | undefined,
): Promise<OpenFolder> {
  const path = names.join("/");
  const at = `${parent.at}/${names.at(-1)}`;
  try {
    mkdirSync(at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      throw new FileAccessError(path, systemReason(error), { cause: error });
  }
  made?.(path);
  await parent.sync();
  const child = openChild(parent, names, false);
  if (child) return child;
  throw new FileAccessError(path, "does not exist");
}

function refusal(error: unknown, at: string, path: string): Error {
  if (error instanceof PathNotAllowedError) return error;
  const found = lstatOf(at);
  if (found?.isSymbolicLink()) return new PathNotAllowedError(path, "it leads through a link");
  return new FileAccessError(path, systemReason(error), { cause: error });
}

export function rootRefusal(root: string, error: unknown): FileAccessError {
  const reason = `cannot be used: the root ${JSON.stringify(root)} ${systemReason(error)}`;
  return new FileAccessError(".", reason, { cause: error });
}

/** Returns the stats of a path, or `undefined` if the path is missing or inaccessible. */
export function lstatOf(at: string | Buffer): Stats | undefined {
  try {
    return lstatSync(at, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
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
