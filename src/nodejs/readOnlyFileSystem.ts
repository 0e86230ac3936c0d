import type { FileSystem } from "./FileSystem.ts";

/** Returns a file system that refuses changes with the error of a read-only device. */
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
