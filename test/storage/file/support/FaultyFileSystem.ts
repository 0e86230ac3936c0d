import type { FileSystem, OpenFile } from "../../../../src/nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../../../src/nodejs/nodeFileSystem.ts";

/** Counts every call to a file system and lets chosen ones fail. Syncs only count: what they are for needs a power cut. */
export class FaultyFileSystem implements FileSystem {
  readonly calls: string[] = [];
  /** The number of created files that are not closed. */
  open = 0;
  #fault: (call: number, operation: string) => string | undefined = () => undefined;

  /** Lets the call with this number, or all from it on, fail with a code; `short` lets a write take only a part. */
  failAt(number: number, code: string, fromThenOn: boolean): void {
    this.#fault = (call) => (call === number || (fromThenOn && call > number) ? code : undefined);
  }

  heal(): void {
    this.#fault = () => undefined;
  }

  async create(path: string): Promise<OpenFile> {
    const file = await this.#try("create", () => nodeFileSystem.create(path));
    this.open++;
    return {
      write: (bytes) => this.#write(file, bytes),
      fdatasync: () => this.#try("fdatasync", async () => {}),
      fsync: () => this.#try("fsync", async () => {}),
      // A descriptor is given back even if close reports an error.
      close: () => {
        this.open--;
        return file.close().then(() => this.#try("close", async () => {}));
      },
    };
  }

  readFile = (path: string, start?: number, length?: number) =>
    this.#try("readFile", () => nodeFileSystem.readFile(path, start, length));
  stat = (path: string) => this.#try("stat", () => nodeFileSystem.stat(path));
  link = (existing: string, path: string) => this.#try("link", () => nodeFileSystem.link(existing, path));
  rename = (from: string, to: string) => this.#try("rename", () => nodeFileSystem.rename(from, to));
  unlink = (path: string) => this.#try("unlink", () => nodeFileSystem.unlink(path));
  readdir = (path: string) => this.#try("readdir", () => nodeFileSystem.readdir(path));
  mkdir = (path: string) => this.#try("mkdir", () => nodeFileSystem.mkdir(path));
  rmdir = (path: string) => this.#try("rmdir", () => nodeFileSystem.rmdir(path));
  fsyncDir = (_path: string) => this.#try("fsyncDir", async () => {});

  async #write(file: OpenFile, bytes: Uint8Array): Promise<number> {
    const code = this.#next("write");
    if (code === "short") return file.write(bytes.subarray(0, Math.ceil(bytes.length / 2)));
    if (code === undefined) return file.write(bytes);
    // A device that fills up has taken some of it.
    await file.write(bytes.subarray(0, bytes.length >> 1));
    throw systemError(code);
  }

  async #try<Result>(operation: string, action: () => Promise<Result>): Promise<Result> {
    const code = this.#next(operation);
    if (code !== undefined && code !== "short") throw systemError(code);
    return action();
  }

  #next(operation: string): string | undefined {
    this.calls.push(operation);
    return this.#fault(this.calls.length, operation);
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made to fail`), { code });
}
