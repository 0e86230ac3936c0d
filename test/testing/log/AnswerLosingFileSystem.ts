import type { FileSystem, OpenFile } from "../../../src/node/FileSystem.ts";
import { nodeFileSystem } from "../../../src/node/nodeFileSystem.ts";

/** The real file system, but that one write can be carried out and then reported as failed. Syncs cost time and are left. */
export class AnswerLosingFileSystem implements FileSystem {
  readFile = nodeFileSystem.readFile.bind(nodeFileSystem);
  stat = nodeFileSystem.stat.bind(nodeFileSystem);
  link = nodeFileSystem.link.bind(nodeFileSystem);
  rename = nodeFileSystem.rename.bind(nodeFileSystem);
  unlink = nodeFileSystem.unlink.bind(nodeFileSystem);
  readdir = nodeFileSystem.readdir.bind(nodeFileSystem);
  mkdir = nodeFileSystem.mkdir.bind(nodeFileSystem);
  rmdir = nodeFileSystem.rmdir.bind(nodeFileSystem);
  fsyncDir = async (): Promise<void> => {};
  losesAnswer = false;

  async create(path: string): Promise<OpenFile> {
    const file = await nodeFileSystem.create(path);
    return {
      write: async (bytes) => this.#answer(await file.write(bytes)),
      fdatasync: async () => {},
      fsync: async () => {},
      close: () => file.close(),
    };
  }

  #answer(written: number): number {
    if (!this.losesAnswer) return written;
    this.losesAnswer = false;
    throw Object.assign(new Error("EIO: made to fail after the write"), { code: "EIO" });
  }
}
