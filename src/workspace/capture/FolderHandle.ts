import { closeSync, constants, fstatSync, openSync, type Stats } from "node:fs";
import { folderFlags, throughHandles } from "../files/ConfinedFolder.ts";

/** An open folder. What is in it is reached through the handle, so no link planted meanwhile is followed on Linux. */
export class FolderHandle {
  /** The folder as the beginning of a path. */
  readonly at: string;
  readonly #descriptor: number;

  private constructor(path: string, flags: number) {
    this.#descriptor = openSync(path, flags);
    this.at = throughHandles ? `/proc/self/fd/${this.#descriptor}` : path;
  }

  /** The folder may be a link: it is the user's own choice. */
  static root(path: string): FolderHandle {
    return new FolderHandle(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
  }

  /** A folder in this one. @throws the error of the file system, also for a link. */
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
