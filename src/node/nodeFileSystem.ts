import {
  close,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  link,
  lstat,
  mkdir,
  open,
  read,
  readdirSync,
  rename,
  rmdir,
  unlink,
  write,
} from "node:fs";
import { promisify } from "node:util";
import { StorageError } from "../errors/storage/StorageError.ts";
import type { FileSystem, OpenFile } from "./FileSystem.ts";

const { O_APPEND, O_CREAT, O_DSYNC, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
// Windows has no such flag, and its links need a privilege.
const noFollow = O_NOFOLLOW ?? 0;
/** Without waiting for another end, as a pipe in the place of a file has one. */
const existingFile = O_RDONLY | noFollow | (O_NONBLOCK ?? 0);
const newFile = O_CREAT | O_EXCL | O_WRONLY | O_APPEND | noFollow;
/** Linux does for each write what `fdatasync` does. Elsewhere the flag may stop short of the cache of the drive. */
const syncedWrites = process.platform === "linux" ? O_DSYNC : undefined;

const openFile = promisify(open);
const closeFile = promisify(close);
const status = promisify(lstat);
const syncFile = promisify(fsync);

/** The file system of this machine. The callback functions of Node are used because they cost less than their promises. */
export const nodeFileSystem: FileSystem = {
  async create(path, { synced = false } = {}) {
    const flag = synced ? syncedWrites : undefined;
    return nodeFile(await openFile(path, newFile | (flag ?? 0), 0o600), flag !== undefined);
  },
  async readFile(path, start = 0, length) {
    const descriptor = await openFile(path, existingFile);
    try {
      // At once: it is in memory, and takes a fraction of the way through the thread pool.
      const found = fstatSync(descriptor);
      // Pipes and devices have no end, folders no bytes.
      if (!found.isFile()) throw new StorageError("permission", "read", path);
      return await readFrom(descriptor, start, length ?? found.size - start);
    } finally {
      await closeFile(descriptor);
    }
  },
  async stat(path) {
    const found = await status(path);
    // A number of a removed file is soon given to another, which was made later.
    const id = `${found.ino}.${Math.round(found.birthtimeMs * 1000)}`;
    return { size: found.size, folder: found.isDirectory(), id, owner: found.uid };
  },
  link: promisify(link),
  rename: promisify(rename),
  unlink: promisify(unlink),
  // At once: an append lists a folder of few names that the system has in memory, in a fifth of the time that a way
  // through the thread pool takes.
  readdir: async (path) => readdirSync(path),
  mkdir: (path) => new Promise((resolve, reject) => mkdir(path, 0o700, (error) => (error ? reject(error) : resolve()))),
  rmdir: promisify(rmdir) as (path: string) => Promise<void>,
  async fsyncDir(path) {
    // Windows cannot sync a folder; its file systems journal names.
    if (process.platform === "win32") return;
    const descriptor = await openFile(path, O_RDONLY);
    try {
      await syncFile(descriptor);
    } finally {
      await closeFile(descriptor);
    }
  },
};

/** @param synced whether the file was opened so that each write is synced. */
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

/** Node refuses to read 2 GiB at once. */
const mostAtOnce = 2 ** 30;

function readSome(descriptor: number, bytes: Buffer, filled: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = Math.min(bytes.length - filled, mostAtOnce);
    read(descriptor, bytes, filled, length, position, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
