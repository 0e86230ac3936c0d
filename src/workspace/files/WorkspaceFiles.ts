import { addToGroup } from "../../internal/addToGroup.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmdirSync,
  statSync,
} from "node:fs";
import { FileAccessError, PathNotAllowedError } from "../../errors/workspaceErrors.ts";
import { ConfinedFolder, type FilePlace, rootRefusal, systemReason } from "./ConfinedFolder.ts";
import { folderFlags, throughHandles } from "./OpenFolder.ts";
import { folderOf, foldersAbove } from "./relativePath.ts";
import { readFile, type FoundFile } from "./readFile.ts";
import {
  type ExpectedReplacement,
  replaceExpected,
  type GuardedOutcome,
  type GuardedReplacement,
  replaceUnchanged,
} from "./replaceUnchanged.ts";
import { removeUnfinished } from "./StagedFile.ts";

export const filesAtOnce = 8;
/** `O_PATH` of Linux: opens a handle without any permission, in order to change permissions. */
const openPath = 0o10000000;

/** A replacement of a file or link. A missing state means no file. */
export interface FileReplacement extends Omit<ExpectedReplacement, "maximumBytes"> {
  /** Called with each directory that is created for the file. */
  readonly made?: (folder: string) => void;
}

/** The files of a workspace, by paths from `relativePath`. Never accesses files outside the root. */
export class WorkspaceFiles {
  readonly maximumBytes: number;
  readonly #folder: ConfinedFolder;

  constructor(root: string, maximumBytes: number) {
    this.#folder = new ConfinedFolder(root);
    this.maximumBytes = maximumBytes;
  }

  get root(): string {
    return this.#folder.root;
  }

  /** Denies access to a directory and its contents from now on. */
  close(path: string): void {
    this.#folder.close(path);
  }

  isClosed(path: string): boolean {
    return this.#folder.isClosed(path);
  }

  async hasRoot(): Promise<boolean> {
    try {
      return statSync(this.root).isDirectory();
    } catch (error) {
      if (isMissingFile(error)) return false;
      throw rootRefusal(this.root, error);
    }
  }

  /** Reads the entry at a path. @throws PathNotAllowedError, FileAccessError */
  async read(path: string): Promise<FoundFile> {
    try {
      return await this.#folder.within(path, (place) => readFile(place, this.maximumBytes));
    } catch (error) {
      if (isWithoutFolder(error)) return { kind: "missing" };
      throw error;
    }
  }

  /** Reads the entry at a path and whether it can be replaced. @throws FileAccessError if the root cannot be used */
  async look(path: string): Promise<FoundFile> {
    let found: FoundFile = { kind: "missing" };
    await this.lookAtAll([path], (_path, seen) => (found = seen));
    return found;
  }

  /** Looks at many entries like `look`. Opens each directory once, so `onFound` gets the entries in another order. */
  async lookAtAll(paths: Iterable<string>, onFound: OnFound): Promise<void> {
    const all = [...paths];
    const unlisted = await this.#unlisted(all);
    const onSeen: OnFound = (path, found) => onFound(path, unlisted.has(path) ? withoutEntry(found) : found);
    for (const [folder, names] of byFolder(all))
      await this.#within(folder, (place) => this.#lookIn(place, folder, names, onSeen)).catch(
        async (error: unknown) => {
          for (const name of names) onSeen(join(folder, name), await this.#unseen(join(folder, name), error));
        },
      );
  }

  /**
   * Returns the paths that may lead to the file of another path, because the file system may ignore case. Such a path
   * differs from another one only in case, and no directory lists its name.
   */
  async #unlisted(paths: readonly string[]): Promise<ReadonlySet<string>> {
    const spellings = new Map<string, string[]>();
    for (const path of paths) addToGroup(spellings, path.normalize().toLowerCase(), path);
    const lists = new Map<string, Promise<ReadonlySet<string> | undefined>>();
    const list = (folder: string) =>
      this.#within(folder, (place) => new Set(readdirSync(place.folder))).catch(() => undefined);
    const unlisted = new Set<string>();
    for (const path of [...spellings.values()].filter(({ length }) => length > 1).flat())
      for (const at of [...foldersAbove(path), path]) {
        const folder = folderOf(at);
        const names = lists.get(folder) ?? list(folder);
        lists.set(folder, names);
        if ((await names)?.has(at.slice(at.lastIndexOf("/") + 1)) === false) unlisted.add(path);
      }
    return unlisted;
  }

  async #lookIn(place: FilePlace, folder: string, names: readonly string[], onFound: OnFound): Promise<void> {
    const { slice } = place;
    const refused = writeRefusal(place.folder);
    for (const name of names) {
      const path = join(folder, name);
      try {
        this.#folder.assertOpen(path);
        const found = readFile({ path, at: `${place.folder}/${name}` }, this.maximumBytes);
        onFound(path, refused === undefined ? found : { ...found, ...shutBy(refused, path) });
      } catch (error) {
        onFound(path, await this.#unseen(path, error));
      }
      while (slice.isOver) await slice.turn();
    }
  }

  /** Describes an entry that cannot be read. */
  async #unseen(path: string, error: unknown): Promise<FoundFile> {
    if (error instanceof FileAccessError && error.path === ".") throw error;
    return isWithoutFolder(error) ? this.#lookAbove(path, error) : { ...absent(error), unreachable: refusalIn(error) };
  }

  /** Returns the result for a file in a missing directory. The file can be created if its directory can be created. */
  async #lookAbove(path: string, error: unknown): Promise<FoundFile> {
    const above = folderOf(path);
    const found: FoundFile = above === "" ? { kind: "missing" } : await this.look(above);
    if (found.kind === "missing") return found;
    return { kind: "missing", unreachable: found.unreachable ?? refusalIn(error) };
  }

  /**
   * Replaces the entry at a path if it has the expected state, without a sync of the directory. A missing state means
   * no file.
   *
   * @returns the unexpected entry, if any.
   * @throws PathNotAllowedError, FileAccessError
   */
  async replace(path: string, { made = () => {}, ...replacement }: FileReplacement): Promise<FoundFile | undefined> {
    const { expected, state } = replacement;
    const put = (place: FilePlace) => replaceExpected(place, { ...replacement, maximumBytes: this.maximumBytes });
    try {
      return await this.#folder.within(path, put, state === undefined ? undefined : made);
    } catch (error) {
      if (state !== undefined || !isWithoutFolder(error)) throw error;
      return expected === undefined ? undefined : { kind: "missing" };
    }
  }

  /** Makes the names of these files durable. Skips paths whose directory no longer exists. */
  async sync(paths: Iterable<string>): Promise<void> {
    for (const folder of byFolder(paths).keys())
      await this.#within(folder, (place) => place.sync()).catch((error: unknown) => {
        if (!isWithoutFolder(error) && !isRefused(error)) throw error;
      });
  }

  /** Replaces a file durably, only if it has the expected content. @throws PathNotAllowedError, FileAccessError */
  async replaceUnchanged(path: string, replacement: Omit<GuardedReplacement, "maximumBytes">): Promise<GuardedOutcome> {
    const made = replacement.expectedHash === "" ? () => {} : undefined;
    const request = { ...replacement, maximumBytes: this.maximumBytes };
    try {
      return await this.#folder.within(path, (place) => replaceUnchanged(place, request), made);
    } catch (error) {
      if (made === undefined && isWithoutFolder(error)) return { replaced: false, found: { kind: "missing" } };
      throw error;
    }
  }

  async missingFolders(path: string): Promise<readonly string[]> {
    const names = path.split("/");
    const missing: string[] = [];
    for (const at of names.slice(0, -1).keys()) {
      const folder = names.slice(0, at + 1).join("/");
      if ((await this.read(folder)).kind === "missing") missing.push(folder);
    }
    return missing;
  }

  /** @returns the former permissions, or `undefined` for no empty directory @throws FileAccessError */
  async removeEmptyFolder(path: string): Promise<number | undefined> {
    try {
      return await this.#folder.within(path, async (place) => {
        const { mode } = lstatSync(place.at);
        rmdirSync(place.at);
        await place.sync();
        return mode & 0o7777;
      });
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (isWithoutFolder(error) || ["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(code)) return undefined;
      throw accessError(error, path);
    }
  }

  /** Returns the permissions of a directory, or `undefined`. @throws PathNotAllowedError, FileAccessError */
  async folderMode(path: string): Promise<number | undefined> {
    try {
      const found = await this.#folder.within(path, (place) => lstatSync(place.at));
      return found.isDirectory() ? found.mode & 0o7777 : undefined;
    } catch (error) {
      if (isWithoutFolder(error) || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw accessError(error, path);
    }
  }

  /**
   * Sets the permissions of a directory, or creates it. Calls `made` with each parent directory that it creates.
   *
   * @throws PathNotAllowedError, FileAccessError
   */
  async setFolder(path: string, mode: number, made: (folder: string) => void = () => {}): Promise<void> {
    try {
      await this.#folder.within(
        path,
        ({ at }) => {
          makeFolder(at, mode);
          setFolderMode(at, mode);
        },
        made,
      );
    } catch (error) {
      throw accessError(error, path);
    }
  }

  /** Returns all paths in a directory tree. Follows no links. @throws PathNotAllowedError, FileAccessError */
  async below(path: string): Promise<readonly string[]> {
    const list = ({ folder }: FilePlace) => readdirSync(folder, { withFileTypes: true });
    const entries = await this.#folder.within(`${path}/.`, list).catch((error: unknown) => {
      throw accessError(error, path);
    });
    const found: string[] = [];
    for (const entry of entries) {
      const inner = `${path}/${entry.name}`;
      found.push(inner);
      if (entry.isDirectory() && !this.isClosed(inner)) for (const name of await this.below(inner)) found.push(name);
    }
    return found;
  }

  /** Removes temporary files of interrupted writes. Skips directories that cannot be reached. */
  async removeUnfinished(paths: Iterable<string>): Promise<void> {
    for (const [folder, names] of byFolder(paths))
      await this.#within(folder, (place) => removeUnfinished(place.folder, names)).catch(() => undefined);
  }

  /** Runs an action in an open directory. The root is "". */
  #within<Result>(folder: string, action: (place: FilePlace) => Result | Promise<Result>): Promise<Result> {
    return this.#folder.within(join(folder, "."), action);
  }
}

type OnFound = (path: string, found: FoundFile) => void;

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** Groups file names by directory. The root is "". */
function byFolder(paths: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const path of paths) addToGroup(names, folderOf(path), path.slice(path.lastIndexOf("/") + 1));
  return names;
}

function makeFolder(at: string, mode: number): void {
  try {
    mkdirSync(at, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Sets permissions through a handle, so that the target of a link never changes. The directory need not be readable.
 */
function setFolderMode(at: string, mode: number): void {
  if (!throughHandles) {
    if (lstatSync(at).isSymbolicLink()) throw Object.assign(new Error(`${at} is a link`), { code: "ENOTDIR" });
    return chmodSync(`${at}/.`, mode);
  }
  const descriptor = openSync(at, folderFlags | openPath);
  try {
    chmodSync(`/proc/self/fd/${descriptor}`, mode);
  } finally {
    closeSync(descriptor);
  }
}

function accessError(error: unknown, path: string): Error {
  if (error instanceof FileAccessError || error instanceof PathNotAllowedError) return error;
  return new FileAccessError(path, systemReason(error), { cause: error });
}

/** Returns the reason why a path cannot be used, as the end of a sentence that starts with the path. */
export function refusalIn(error: unknown): string {
  if (error instanceof FileAccessError) return error.reason;
  return error instanceof PathNotAllowedError ? `may not be used: ${error.reason}` : systemReason(error);
}

/** Describes the error of a directory without write permission. */
function shutBy(refused: unknown, path: string): Pick<FoundFile, "unreachable" | "shut"> {
  const { code = "" } = refused as NodeJS.ErrnoException;
  if (!["EACCES", "EPERM"].includes(code)) return { unreachable: systemReason(refused) };
  const folder = folderOf(path);
  return { unreachable: "is in a folder in which this process may not write", shut: folder };
}

/** Returns the error of a directory that this process may not change, or `undefined`. */
function writeRefusal(folder: string): unknown {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Returns whether access is denied permanently, so that a retry is useless. */
export function isRefused(error: unknown): boolean {
  if (error instanceof PathNotAllowedError) return true;
  if (!(error instanceof FileAccessError)) return false;
  return refusals.has((error.cause as NodeJS.ErrnoException | undefined)?.code ?? "");
}

const refusals: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ELOOP", "EBUSY"]);

function withoutEntry({ unreachable, shut }: FoundFile): FoundFile {
  return withoutUndefined({ kind: "missing", unreachable, shut });
}

function absent(error: unknown): FoundFile {
  return { kind: "other", reason: refusalIn(error) };
}

function isWithoutFolder(error: unknown): boolean {
  if (!(error instanceof FileAccessError) || error.path === ".") return false;
  return isMissingFile(error.cause);
}

export function isMissingFile(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException | undefined)?.code ?? "");
}
