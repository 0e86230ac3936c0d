import { StorageError } from "../errors/storage/StorageError.ts";
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
  write(bytes: Uint8Array): Promise<void> {
    return this.#writeAll(bytes, (part) => this.#file.write(part));
  }

  /** Writes all bytes to the device. A failure may leave a part of them behind. */
  async store(bytes: Uint8Array): Promise<void> {
    const { writeSynced } = this.#file;
    if (writeSynced) return this.#writeAll(bytes, (part) => writeSynced(part));
    await this.write(bytes);
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

  async #writeAll(bytes: Uint8Array, write: (part: Uint8Array) => Promise<number>): Promise<void> {
    try {
      let written = await write(bytes);
      while (written < bytes.length) {
        const count = await write(bytes.subarray(written));
        // A device that takes nothing and reports nothing would be asked for ever.
        if (count === 0) throw new StorageError("full", "write", this.path);
        written += count;
      }
    } catch (error) {
      throw this.#failed("write", error);
    }
  }

  #failed(operation: string, cause: unknown): StorageError {
    return cause instanceof StorageError
      ? cause
      : new StorageError(storageFailure(cause), operation, this.path, { cause });
  }
}
