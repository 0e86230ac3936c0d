import type { FileSystem } from "agent-persistence/file";

/** An open file, as `FileSystem` gives it. */
export type OpenFile = Awaited<ReturnType<FileSystem["create"]>>;

/** A file system with some calls changed. */
export function delegating(fileSystem: FileSystem, changes: Partial<FileSystem>): FileSystem {
  return {
    create: (path) => fileSystem.create(path),
    readFile: (path, start, length) => fileSystem.readFile(path, start, length),
    stat: (path) => fileSystem.stat(path),
    link: (existing, path) => fileSystem.link(existing, path),
    rename: (from, to) => fileSystem.rename(from, to),
    unlink: (path) => fileSystem.unlink(path),
    readdir: (path) => fileSystem.readdir(path),
    mkdir: (path) => fileSystem.mkdir(path),
    rmdir: (path) => fileSystem.rmdir(path),
    fsyncDir: (path) => fileSystem.fsyncDir(path),
    ...changes,
  };
}

/** A file system with some calls of its open files changed. */
export function changingFiles(
  fileSystem: FileSystem,
  change: (file: OpenFile, path: string) => Partial<OpenFile>,
): FileSystem {
  const create = async (path: string): Promise<OpenFile> => {
    const file = await fileSystem.create(path);
    return {
      write: (bytes) => file.write(bytes),
      fdatasync: () => file.fdatasync(),
      fsync: () => file.fsync(),
      close: () => file.close(),
      ...change(file, path),
    };
  };
  return delegating(fileSystem, { create });
}
