import type { FoundFile } from "../files/readFile.ts";
import { foldersAbove } from "../files/relativePath.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { RestorePart } from "./RestoreStep.ts";

/** Entries that block the path of a restored file and are removed by the same restore. */
export class Obstacles {
  /**
   * @param removed the files and links that the restore removes
   * @param folders the directories that the agent created
   */
  constructor(
    readonly files: WorkspaceFiles,
    readonly removed: ReadonlySet<string>,
    readonly folders: ReadonlySet<string>,
  ) {}

  /** Returns whether the entry at a path, or its obstacle above, is removed before a file is written there. */
  async include(path: string, found: FoundFile): Promise<boolean> {
    if (found.unreachable !== undefined) return foldersAbove(path).some((above) => this.removed.has(above));
    if (found.kind !== "other" || !found.folder || !this.folders.has(path)) return false;
    const below = await this.files.below(path);
    return below.every((name) => this.removed.has(name) || this.folders.has(name));
  }
}

/** Returns the entry in its state after these directories were made writable. */
export function asOpened(found: FoundFile, opened: ReadonlySet<string>): FoundFile {
  if (found.shut === undefined || !opened.has(found.shut)) return found;
  const { unreachable: _reason, shut: _folder, ...rest } = found;
  return rest;
}

/** Returns the directories without write permission, as the agent left them. A restore makes them writable first. */
export async function openedFolders(
  files: WorkspaceFiles,
  parts: readonly RestorePart[],
): Promise<ReadonlySet<string>> {
  const opened = new Set<string>();
  for (const part of parts) {
    const left = leftMode(part);
    if (left === undefined || (left & 0o300) === 0o300) continue;
    if ((await files.folderMode(part.path).catch(() => undefined)) === left) opened.add(part.path);
  }
  return opened;
}

/** Returns the permissions that the agent left on a directory. `undefined` for other parts or if they do not matter. */
export function leftMode(part: RestorePart): number | undefined {
  if (part.kind === "folder") return part.mode;
  return part.kind === "folder_mode" ? part.after : undefined;
}
