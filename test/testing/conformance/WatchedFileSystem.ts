import type { FileSystem, OpenFile } from "../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../src/nodejs/nodeFileSystem.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";

/**
 * The real file system, but that it knows when all is done, and that one write can be carried out and then reported as
 * failed. Syncs cost time, and no test here loses power: they are left out.
 */
export class WatchedFileSystem implements FileSystem {
  losesAnswer = false;
  #running = 0;

  readFile: FileSystem["readFile"] = (...given) => this.#run(() => nodeFileSystem.readFile(...given));
  stat: FileSystem["stat"] = (...given) => this.#run(() => nodeFileSystem.stat(...given));
  link: FileSystem["link"] = (...given) => this.#run(() => nodeFileSystem.link(...given));
  rename: FileSystem["rename"] = (...given) => this.#run(() => nodeFileSystem.rename(...given));
  unlink: FileSystem["unlink"] = (...given) => this.#run(() => nodeFileSystem.unlink(...given));
  readdir: FileSystem["readdir"] = (...given) => this.#run(() => nodeFileSystem.readdir(...given));
  mkdir: FileSystem["mkdir"] = (...given) => this.#run(() => nodeFileSystem.mkdir(...given));
  rmdir: FileSystem["rmdir"] = (...given) => this.#run(() => nodeFileSystem.rmdir(...given));
  fsyncDir = async (): Promise<void> => {};

  async create(path: string): Promise<OpenFile> {
    const file = await this.#run(() => nodeFileSystem.create(path));
    return {
      write: async (bytes) => this.#answer(await this.#run(() => file.write(bytes))),
      fdatasync: async () => {},
      fsync: async () => {},
      close: () => this.#run(() => file.close()),
    };
  }

  /** Resolves when no call is under way, nor one that follows from another. */
  async idle(): Promise<void> {
    do await nextTurn();
    while (this.#running > 0);
  }

  async #run<Result>(call: () => Promise<Result>): Promise<Result> {
    this.#running++;
    try {
      return await call();
    } finally {
      this.#running--;
    }
  }

  #answer(written: number): number {
    if (!this.losesAnswer) return written;
    this.losesAnswer = false;
    throw Object.assign(new Error("EIO: made to fail after the write"), { code: "EIO" });
  }
}
