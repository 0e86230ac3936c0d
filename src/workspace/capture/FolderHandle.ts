import { closeSync, constants, fstatSync, openSync, type Stats } from "node:fs";
import { folderFlags, throughHandles } from "../files/ConfinedFolder.ts";

/**
 * An open directory. On Linux its entries are reached through the handle, so that links created later are not followed.
 */
export class FolderHandle {
  readonly at: string;
  readonly #descriptor: number;

  private constructor(path: string, flags: number) {
    this.#descriptor = openSync(path, flags);
    this.at = throughHandles ? `/proc/self/fd/${this.#descriptor}` : path;
  }

  /** Opens the root, which may be a link because the user chose it. */
  static root(path: string): FolderHandle {
    return new FolderHandle(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
  }

  /**
   * Opens a subdirectory.
   *
   * @throws the file system error, including for links
   */
  child(name: string): FolderHandle {
    return new FolderHandle(`${this.at}/${name}`, folderFlags);
  }

  stats(): Stats {
    return fstatSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
