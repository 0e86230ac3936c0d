import { constants } from "node:fs";
import { access, chmod, lstat, mkdir, open, readdir, rmdir, stat } from "node:fs/promises";
import { basename, sep } from "node:path";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { PathNotAllowedError } from "../../errors/workspace/PathNotAllowedError.ts";
import { ConfinedFolder, folderFlags, type FilePlace, systemReason, throughHandles } from "./ConfinedFolder.ts";
import { folderOf } from "./relativePath.ts";
import { readFile, type FoundFile } from "./readFile.ts";
import { replaceExpected } from "./replaceExpected.ts";
import { removeUnfinished, replaceFile } from "./replaceFile.ts";
import { type GuardedOutcome, type GuardedReplacement, replaceUnchanged } from "./replaceUnchanged.ts";

/** Many files are read and written this many at a time. */
export const filesAtOnce = 8;
/** `O_PATH` of Linux: a handle to change permissions, which needs none itself. */
const openPath = 0o10000000;

/** The files of a workspace, by paths from `relativePath`. Nothing outside the root is ever reached. */
export class WorkspaceFiles {
  /** Larger files are not read. */
  readonly maximumBytes: number;
  readonly #folder: ConfinedFolder;

  constructor(root: string, maximumBytes: number) {
    this.#folder = new ConfinedFolder(root);
    this.maximumBytes = maximumBytes;
  }

  get root(): string {
    return this.#folder.root;
  }

  /** Refuses a folder from now on, with what is in it. */
  close(path: string): void {
    this.#folder.close(path);
  }

  isClosed(path: string): boolean {
    return this.#folder.isClosed(path);
  }

  /** Whether the root is a folder, or a link to one. */
  async hasRoot(): Promise<boolean> {
    try {
      return (await stat(this.root)).isDirectory();
    } catch (error) {
      if (isMissing(error)) return false;
      throw new FileAccessError(".", systemReason(error), { cause: error });
    }
  }

  /** What is at a path. @throws PathNotAllowedError, FileAccessError */
  async read(path: string): Promise<FoundFile> {
    try {
      return await this.#folder.within(path, (place) => readFile(place, this.maximumBytes));
    } catch (error) {
      if (isWithoutFolder(error)) return { kind: "missing" };
      throw error;
    }
  }

  /** What is at a path, and whether it can be replaced. @throws FileAccessError when the root cannot be used. */
  async look(path: string): Promise<FoundFile> {
    try {
      return await this.#folder.within(path, async (place) => {
        const found = await readFile(place, this.maximumBytes);
        const refused = await access(place.folder, constants.W_OK | constants.X_OK).then(() => undefined, asIs);
        return refused === undefined ? found : { ...found, ...shutBy(refused, path) };
      });
    } catch (error) {
      if (error instanceof FileAccessError && error.path === ".") throw error;
      return isWithoutFolder(error)
        ? this.#lookAbove(path, error)
        : { ...absent(error), unreachable: refusalIn(error) };
    }
  }

  /** A file in a folder that is missing: what matters is where that folder would be made. */
  async #lookAbove(path: string, error: unknown): Promise<FoundFile> {
    const above = folderOf(path);
    const found: FoundFile = above === "" ? { kind: "missing" } : await this.look(above);
    if (found.kind === "missing") return found;
    return { kind: "missing", unreachable: found.unreachable ?? refusalIn(error) };
  }

  /**
   * Replaces what is at a path, if it is as expected. Without a state there is no file. The folder is not synced: `sync` does
   * that.
   *
   * @returns what is there instead; `undefined`: it is replaced. @throws PathNotAllowedError, FileAccessError
   */
  async replace(
    path: string,
    {
      expected,
      state,
      content,
      made = () => {},
    }: {
      readonly expected: FileState | undefined;
      readonly state: FileState | undefined;
      readonly content?: Uint8Array | undefined;
      /** Called with each folder that is made for the file. */
      readonly made?: (folder: string) => void;
    },
  ): Promise<FoundFile | undefined> {
    const put = (place: FilePlace) =>
      replaceExpected(place, { expected, state, content, maximumBytes: this.maximumBytes });
    try {
      return await this.#folder.within(path, put, state === undefined ? undefined : made);
    } catch (error) {
      if (state !== undefined || !isWithoutFolder(error)) throw error;
      return expected === undefined ? undefined : { kind: "missing" };
    }
  }

  /** Makes the names of these files durable; what is no folder now is passed over. */
  async sync(paths: Iterable<string>): Promise<void> {
    for (const folder of byFolder(paths).keys())
      await this.#folder
        .within(folder === "" ? "." : `${folder}/.`, (place) => place.sync())
        .catch((error: unknown) => {
          if (!isWithoutFolder(error) && !isRefused(error)) throw error;
        });
  }

  /** Writes a file or a link, with the folders it needs; without a `state` removes it, if it exists. Durable when it resolves. */
  async put(path: string, state: FileState | undefined, content?: Uint8Array): Promise<void> {
    const made = state === undefined ? undefined : () => {};
    try {
      await this.#folder.within(path, (place) => replaceFile(place, state, content), made);
    } catch (error) {
      if (state !== undefined || !isWithoutFolder(error)) throw error;
    }
  }

  /** Replaces a file only if it has the expected content. Durable when it resolves. @throws PathNotAllowedError, FileAccessError */
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

  /** The missing folders on the way to a file, outermost first. */
  async missingFolders(path: string): Promise<readonly string[]> {
    const names = path.split("/");
    const missing: string[] = [];
    for (const at of names.slice(0, -1).keys()) {
      const folder = names.slice(0, at + 1).join("/");
      if ((await this.read(folder)).kind === "missing") missing.push(folder);
    }
    return missing;
  }

  /** @returns the permissions that it had; `undefined`: it is missing, or not an empty folder. @throws PathNotAllowedError, FileAccessError */
  async removeEmptyFolder(path: string): Promise<number | undefined> {
    try {
      return await this.#folder.within(path, async (place) => {
        const { mode } = await lstat(place.at);
        await rmdir(place.at);
        await place.sync();
        return mode & 0o7777;
      });
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (isWithoutFolder(error) || ["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(code)) return undefined;
      throw accessError(error, path);
    }
  }

  /** The permissions of a folder; `undefined`: there is no folder. @throws PathNotAllowedError, FileAccessError */
  async folderMode(path: string): Promise<number | undefined> {
    try {
      const found = await this.#folder.within(path, (place) => lstat(place.at));
      return found.isDirectory() ? found.mode & 0o7777 : undefined;
    } catch (error) {
      if (isWithoutFolder(error) || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw accessError(error, path);
    }
  }

  /** Sets the permissions of a folder, and makes the folder if it is missing. @throws PathNotAllowedError, FileAccessError */
  async setFolder(path: string, mode: number): Promise<void> {
    try {
      await this.#folder.within(
        path,
        async ({ at }) => {
          await mkdir(at, mode).catch(passOverExisting);
          await setFolderMode(at, mode);
        },
        () => {},
      );
    } catch (error) {
      throw accessError(error, path);
    }
  }

  /** Everything below a folder. Follows no link. @throws PathNotAllowedError, FileAccessError */
  async below(path: string): Promise<readonly string[]> {
    try {
      return await this.#folder.within(`${path}/.`, async ({ folder }) => {
        const names = await readdir(folder, { recursive: true });
        return names.map((name) => `${path}/${name.split(sep).join("/")}`);
      });
    } catch (error) {
      throw accessError(error, path);
    }
  }

  /** Removes temporary files that interrupted writes of these files left. A folder that cannot be reached is passed over. */
  async removeUnfinished(paths: Iterable<string>): Promise<void> {
    for (const [folder, names] of byFolder(paths))
      await this.#folder
        .within(folder === "" ? "." : `${folder}/.`, (place) => removeUnfinished(place.folder, names))
        .catch(() => undefined);
  }
}

/** The names of files by their folder; "" is the root. */
function byFolder(paths: Iterable<string>): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const path of paths) {
    const folder = folderOf(path);
    const name = basename(path);
    const known = names.get(folder);
    if (known) known.push(name);
    else names.set(folder, [name]);
  }
  return names;
}

function passOverExisting(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
}

/** Through a handle of the folder itself, never of a link's target. The folder need not be readable. */
async function setFolderMode(at: string, mode: number): Promise<void> {
  if (!throughHandles) return chmod(`${at}/.`, mode);
  const handle = await open(at, folderFlags | openPath);
  try {
    await chmod(`/proc/self/fd/${handle.fd}`, mode);
  } finally {
    await handle.close();
  }
}

function accessError(error: unknown, path: string): Error {
  if (error instanceof FileAccessError || error instanceof PathNotAllowedError) return error;
  return new FileAccessError(path, systemReason(error), { cause: error });
}

/** Why a path cannot be used; follows the path in messages. */
export function refusalIn(error: unknown): string {
  if (error instanceof FileAccessError) return error.reason;
  return error instanceof PathNotAllowedError ? `may not be used: ${error.reason}` : systemReason(error);
}

/** What follows from a folder in which this process may not write. */
function shutBy(refused: unknown, path: string): Pick<FoundFile, "unreachable" | "shut"> {
  const { code = "" } = refused as NodeJS.ErrnoException;
  if (!["EACCES", "EPERM"].includes(code)) return { unreachable: systemReason(refused) };
  const folder = folderOf(path);
  return { unreachable: "is in a folder in which this process may not write", shut: folder };
}

function asIs(error: unknown): unknown {
  return error;
}

/** Whether a path may not be used or changed; trying again does not help. */
export function isRefused(error: unknown): boolean {
  if (error instanceof PathNotAllowedError) return true;
  if (!(error instanceof FileAccessError)) return false;
  return refusals.has((error.cause as NodeJS.ErrnoException | undefined)?.code ?? "");
}

const refusals: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ELOOP", "EBUSY"]);

/** What stands for a file that could not be looked at. */
function absent(error: unknown): FoundFile {
  return { kind: "other", reason: refusalIn(error) };
}

function isWithoutFolder(error: unknown): boolean {
  if (!(error instanceof FileAccessError) || error.path === ".") return false;
  return isMissing(error.cause);
}

/** Whether the system reports that a file or a folder on the way to it does not exist. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException | undefined)?.code ?? "");
}
