import { StorageError } from "../../errors/StorageError.ts";
import type { OpenFile } from "./FileSystem.ts";
import { storageFailure } from "./storageFailure.ts";

/** An open file whose failures are `StorageError`s and whose writes are whole. */
export class DiskFile {
  readonly path: string;
  readonly #file: OpenFile;

  constructor(path: string, file: OpenFile) {
    this.path = path;
    this.#file = file;
  }

  /** Writes all bytes. A failure may leave a part of them behind. */
  async write(bytes: Uint8Array): Promise<void> {
    try {
      let written = await this.#file.write(bytes);
      while (written < bytes.length) {
        const count = await this.#file.write(bytes.subarray(written));
        // A device that takes nothing and reports nothing would be asked for ever.
        if (count === 0) throw new StorageError("full", "write", this.path);
        written += count;
      }
    } catch (error) {
      throw this.#failed("write", error);
    }
  }

  async fdatasync(): Promise<void> {
    try {
      await this.#file.fdatasync();
    } catch (error) {
      throw this.#failed("fdatasync", error);
    }
  }

  async fsync(): Promise<void> {
    try {
      await this.#file.fsync();
    } catch (error) {
      throw this.#failed("fsync", error);
    }
  }

  async close(): Promise<void> {
    try {
      await this.#file.close();
    } catch (error) {
      throw this.#failed("close", error);
    }
  }

  #failed(operation: string, cause: unknown): StorageError {
    return cause instanceof StorageError
      ? cause
      : new StorageError(storageFailure(cause), operation, this.path, { cause });
  }
}
