import { closeSync, constants, existsSync, fstatSync, fsync, open, openSync, type Stats } from "node:fs";

import { isAbsolute, relative } from "node:path";

/** Flags to open a directory without following links. */
export const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
const newFile = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0);
/** Whether files can be opened relative to an open directory, so that links created later are not followed. */
export const throughHandles = process.platform === "linux" && existsSync("/proc/self/fd");

/** An open directory. On Linux, the handle leads to the entries, so that no new link is followed. */
export class OpenFolder {
  /** The path through the handle. On other systems the plain path. */
  readonly at: string;
  readonly #descriptor: number;

  private constructor(
    at: string,
    flags: number,
    /** The path at the time of the opening, possibly relative to the working directory. */
    readonly plainPath: string,
  ) {
    this.#descriptor = openSync(at, flags);
    this.at = throughHandles ? `/proc/self/fd/${this.#descriptor}` : at;
  }

  /** Opens the root, which may be a link because the user chose it. */
  static root(path: string): OpenFolder {
    return new OpenFolder(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0), shortPath(path));
  }

  /** Opens a subdirectory. @throws the file system error, including for links */
  child(name: string): OpenFolder {
    return new OpenFolder(`${this.at}/${name}`, folderFlags, `${this.plainPath}/${name}`);
  }

  stats(): Stats {
    return fstatSync(this.#descriptor);
  }

  async sync(): Promise<void> {
    // Windows cannot sync a directory, but its file systems journal names.
    if (process.platform !== "win32") await syncDescriptor(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Returns a path within the working directory as relative, which the system resolves faster. */
function shortPath(path: string): string {
  try {
    const short = relative(process.cwd(), path);
    return short.startsWith("..") || isAbsolute(short) ? path : short || ".";
  } catch {
    // The working directory was removed.
    return path;
  }
}

/** Creates a file outside the thread, because a creation may wait for the journal of the file system. */
export function createDescriptor(path: string, mode: number): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, newFile, mode, (error, descriptor) => (error ? reject(error) : resolve(descriptor)));
  });
}

export function syncDescriptor(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(descriptor, (error) => (error ? reject(error) : resolve()));
  });
}
