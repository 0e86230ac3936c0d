import type { FoundFile } from "../files/readFile.ts";
import type { WorkspaceFiles } from "../files/WorkspaceFiles.ts";

/** What stands where a restore puts a file, and is removed by the same restore. */
export class Obstacles {
  /**
   * @param removed the files and links that the restore removes.
   * @param folders the folders that the agent created.
   */
  constructor(
    readonly files: WorkspaceFiles,
    readonly removed: ReadonlySet<string>,
    readonly folders: ReadonlySet<string>,
  ) {}

  /** Whether what is found at a path, or on the way to it, is removed before a file is written there. */
  async include(path: string, found: FoundFile): Promise<boolean> {
    if (found.unreachable !== undefined) return foldersAbove(path).some((above) => this.removed.has(above));
    if (found.kind !== "other" || !found.folder || !this.folders.has(path)) return false;
    const below = await this.files.below(path);
    return below.every((name) => this.removed.has(name) || this.folders.has(name));
  }
}

/** The folders on the way to a file, outermost first. */
export function foldersAbove(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("/"));
}
