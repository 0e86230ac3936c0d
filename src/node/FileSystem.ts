/** What a file system says of a file or a folder. */
export interface FileStatus {
  readonly size: number;
  readonly folder: boolean;
  /** Tells a file from a copy of it. Absent: the file system cannot tell. */
  readonly id?: string;
  /** The number of the user whose it is. Absent: the file system has no users. */
  readonly owner?: number;
}

/** A file that was created and is written at its end. One write may take fewer bytes than it was given. */
export interface OpenFile {
  /** Appends `bytes`; resolves to how many of them were taken. */
  write(bytes: Uint8Array): Promise<number>;
  /**
   * `write` and `fdatasync` in one call, which is one way to the device and back instead of two. Absent: the file has no
   * such call.
   */
  readonly writeSynced?: (bytes: Uint8Array) => Promise<number>;
  /** Data and what is needed to read it back are on the device. */
  fdatasync(): Promise<void>;
  /** Data and all metadata are on the device: for a new file. */
  fsync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Every call that the file backend makes to a file system. Small, so that one in memory can lose power, fail and stall
 * at each of them. Errors carry the system's `code` (`ENOSPC`, `EEXIST`, …). Links are never followed.
 */
export interface FileSystem {
  /**
   * Creates a file for appending, mode 0600. Rejects with `EEXIST` when the name is taken.
   *
   * @param options.synced whether each write to it is going to be synced, so that it may have `writeSynced`.
   */
  create(path: string, options?: { readonly synced?: boolean }): Promise<OpenFile>;
  /** The bytes of a file from `start`, at most `length` of them; default: all. */
  readFile(path: string, start?: number, length?: number): Promise<Uint8Array>;
  stat(path: string): Promise<FileStatus>;
  /** A second name for a file. Rejects with `EEXIST` when it is taken: this decides who comes first. */
  link(existing: string, path: string): Promise<void>;
  /** Another name for a file, over what has that name now. */
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
  /** One folder, mode 0700. */
  mkdir(path: string): Promise<void>;
  /** Removes a folder. Rejects with `ENOTEMPTY` when something is in it. */
  rmdir(path: string): Promise<void>;
  /** The names in a folder are on the device. */
  fsyncDir(path: string): Promise<void>;
}
