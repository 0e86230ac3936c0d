import {
  close,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  link,
  lstatSync,
  mkdir,
  open,
  openSync,
  read,
  readSync,
  readdirSync,
  rename,
  rmdir,
  unlink,
  write,
} from "node:fs";
import { promisify } from "node:util";
import { StorageError } from "../errors/storageErrors.ts";
import type { FileSystem, OpenFile } from "./FileSystem.ts";

const { O_APPEND, O_CREAT, O_DSYNC, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
// Windows has no `O_NOFOLLOW`. There, only privileged users can create links.
const noFollow = O_NOFOLLOW ?? 0;
/** `O_NONBLOCK` prevents that a pipe in place of a file blocks the process. */
const existingFile = O_RDONLY | noFollow | (O_NONBLOCK ?? 0);
const newFile = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | noFollow;
/** On Linux, each write then includes `fdatasync`. On other systems, it might only reach the cache of the drive. */
const syncedWrites = process.platform === "linux" ? O_DSYNC : undefined;

const openFile = promisify(open);
const closeFile = promisify(close);
const syncFile = promisify(fsync);

/** The file system of this machine. Uses the callbacks of Node, which are faster than its promises. */
export const nodeFileSystem: FileSystem = {
  async create(path, { synced = false } = {}) {
    const flag = synced ? syncedWrites : undefined;
    return nodeFile(await openFile(path, newFile | (flag ?? 0), 0o600), flag !== undefined);
  },
  async readFile(path, start = 0, length) {
    // Synchronous, because reading a small cached file is faster than a change of threads.
    const descriptor = openSync(path, existingFile);
    try {
      const found = fstatSync(descriptor);
      // Rejects pipes and devices, which have no end, and directories.
      if (!found.isFile()) throw new StorageError("permission", "read", path);
      return await readFrom(descriptor, start, Math.min(length ?? found.size, found.size - start));
    } finally {
      closeSync(descriptor);
    }
  },
  async stat(path) {
    const found = lstatSync(path);
    // The inode number of a removed file is soon reused, but with a later birth time.
    const id = `${found.ino}.${Math.round(found.birthtimeMs * 1000)}`;
    return { size: found.size, folder: found.isDirectory(), id, owner: found.uid };
  },
  link: promisify(link),
  rename: promisify(rename),
  unlink: promisify(unlink),
  // Synchronous, because reading a small cached directory is five times as fast as with a change of threads.
  readdir: async (path) => readdirSync(path),
  mkdir: (path) => new Promise((resolve, reject) => mkdir(path, 0o700, (error) => (error ? reject(error) : resolve()))),
  rmdir: promisify(rmdir) as (path: string) => Promise<void>,
  async fsyncDir(path) {
    // Windows cannot sync a directory, but its file systems keep names without it.
    if (process.platform === "win32") return;
    const descriptor = await openFile(path, O_RDONLY);
    try {
      await syncFile(descriptor);
    } finally {
      await closeFile(descriptor);
    }
  },
};

/** @param synced Whether the file was opened with synced writes. */
function nodeFile(descriptor: number, synced: boolean): OpenFile {
  const writeSome = (bytes: Uint8Array): Promise<number> =>
    new Promise((resolve, reject) =>
      write(descriptor, bytes, (error, count) => (error ? reject(error) : resolve(count))),
    );
  return {
    write: writeSome,
    ...(synced && { writeSynced: writeSome }),
    fdatasync: () =>
      new Promise((resolve, reject) => fdatasync(descriptor, (error) => (error ? reject(error) : resolve()))),
    fsync: () => syncFile(descriptor),
    close: () => closeFile(descriptor),
  };
}

async function readFrom(descriptor: number, start: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(Math.max(0, length));
  let filled = 0;
  while (filled < bytes.length) {
    const count = await readSome(descriptor, bytes, filled, start + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** The maximum number of bytes in one read, because Node rejects reads of 2 GiB. */
const mostAtOnce = 2 ** 30;

/** The maximum number of bytes in a synchronous read. */
const smallRead = 2 ** 16;

function readSome(descriptor: number, bytes: Buffer, filled: number, position: number): number | Promise<number> {
  const length = Math.min(bytes.length - filled, mostAtOnce);
  if (length <= smallRead) return readSync(descriptor, bytes, filled, length, position);
  return new Promise((resolve, reject) => {
    read(descriptor, bytes, filled, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
