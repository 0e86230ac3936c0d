export interface FileStatus {
  readonly size: number;
  readonly folder: boolean;
  /** An id that a copy of the file does not have. Omitted if the file system has no such id. */
  readonly id?: string;
  /** The numeric id of the file's owner. Omitted if the file system has no users. */
  readonly owner?: number;
}

/** A new file to which data is appended. */
export interface OpenFile {
  /** Appends bytes. Resolves to the number of written bytes, which can be smaller. */
  write(bytes: Uint8Array): Promise<number>;
  /** Combines `write` and `fdatasync` in one access to the device. Omitted if unsupported. */
  readonly writeSynced?: (bytes: Uint8Array) => Promise<number>;
  /** Syncs the data to the device, with the metadata needed to read the data. */
  fdatasync(): Promise<void>;
  /** Syncs the data and all metadata to the device, for a new file. */
  fsync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * All file system calls of the file storage. The interface is small, so that tests can simulate failures, delays and
 * power loss at each call. Errors carry the system's `code`, such as `ENOSPC` or `EEXIST`. `create`, `readFile` and
 * `stat` never follow a link at their path.
 */
export interface FileSystem {
  /**
   * Creates a file for appending, mode 0600. Rejects with `EEXIST` if the name is in use.
   *
   * @param options.synced whether each write will be synced. The file may then have `writeSynced`.
   */
  create(path: string, options?: { readonly synced?: boolean }): Promise<OpenFile>;
  /** Returns at most `length` bytes of a file from `start`. Defaults to all bytes. */
  readFile(path: string, start?: number, length?: number): Promise<Uint8Array>;
  stat(path: string): Promise<FileStatus>;
  /** Adds a second name to a file. If several calls use one name, all but one reject with `EEXIST`. */
  link(existing: string, path: string): Promise<void>;
  /** Renames a file. Replaces an existing file with the new name. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
  /** Creates one directory, mode 0700. */
  mkdir(path: string): Promise<void>;
  /** Removes a directory. Rejects with `ENOTEMPTY` if it is not empty. */
  rmdir(path: string): Promise<void>;
  /** Syncs the names in a directory to the device. */
  fsyncDir(path: string): Promise<void>;
}

/** Returns a file system that rejects changes with `EROFS`, as a read-only device does. */
export function readOnlyFileSystem(system: FileSystem): FileSystem {
  const refuse = (path: string): Promise<never> =>
    Promise.reject(Object.assign(new Error(`${path} is on a read-only file system`), { code: "EROFS" }));
  return {
    readFile: (path, start, length) => system.readFile(path, start, length),
    stat: (path) => system.stat(path),
    readdir: (path) => system.readdir(path),
    create: refuse,
    link: refuse,
    rename: refuse,
    unlink: refuse,
    mkdir: refuse,
    rmdir: refuse,
    fsyncDir: refuse,
  };
}
