import { rmdir } from "node:fs/promises";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { ConfinedFolder, systemReason } from "./ConfinedFolder.ts";
import { readFile, type FoundFile } from "./readFile.ts";
import { removeUnfinished, replaceFile } from "./replaceFile.ts";
import { type GuardedOutcome, type GuardedReplacement, replaceUnchanged } from "./replaceUnchanged.ts";

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

  /** What is at a path. @throws PathNotAllowedError, FileAccessError */
  async read(path: string): Promise<FoundFile> {
    try {
      return await this.#folder.within(path, (place) => readFile(place, this.maximumBytes));
    } catch (error) {
      if (isWithoutFolder(error)) return { kind: "missing" };
      throw error;
    }
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

  async removeEmptyFolder(path: string): Promise<void> {
    try {
      await this.#folder.within(path, async (place) => {
        await rmdir(place.at);
        await place.sync();
      });
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (isWithoutFolder(error) || ["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(code)) return;
      if (error instanceof FileAccessError || code === "path_not_allowed") throw error;
      throw new FileAccessError(path, systemReason(error), { cause: error });
    }
  }

  /** Removes temporary files that an interrupted write of this file left. */
  async removeUnfinished(path: string): Promise<void> {
    try {
      await this.#folder.within(path, removeUnfinished);
    } catch (error) {
      if (!isWithoutFolder(error)) throw error;
    }
  }
}

function isWithoutFolder(error: unknown): boolean {
  if (!(error instanceof FileAccessError) || error.path === ".") return false;
  return ["ENOENT", "ENOTDIR"].includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? "");
}
