import { StorageError } from "../errors/storageErrors.ts";
import type { OpenFile } from "./FileSystem.ts";
import { diskError } from "./storageFailure.ts";

/** An open file with complete writes. Failures throw `StorageError`. */
export class DiskFile {
  readonly #file: OpenFile;

  constructor(
    readonly path: string,
    file: OpenFile,
  ) {
    this.#file = file;
  }

  /** Writes all bytes. A failure may leave a part of them in the file. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#writeAll(bytes, (part) => this.#file.write(part));
  }

  /** Writes all bytes to the device. A failure may leave a part of them in the file. */
  async store(bytes: Uint8Array): Promise<void> {
    const { writeSynced } = this.#file;
    if (writeSynced) return this.#writeAll(bytes, (part) => writeSynced(part));
    await this.write(bytes);
    await this.#call("fdatasync");
  }

  fsync(): Promise<void> {
    return this.#call("fsync");
  }

  close(): Promise<void> {
    return this.#call("close");
  }

  async #writeAll(bytes: Uint8Array, write: (part: Uint8Array) => Promise<number>): Promise<void> {
    try {
      let written = await write(bytes);
      while (written < bytes.length) {
        const count = await write(bytes.subarray(written));
        // Avoids an endless loop on a device that writes 0 bytes without an error.
        if (count === 0) throw new StorageError("full", "write", this.path);
        written += count;
      }
    } catch (error) {
      throw diskError("write", this.path, error);
    }
  }

  async #call(operation: "fdatasync" | "fsync" | "close"): Promise<void> {
    try {
      await this.#file[operation]();
    } catch (error) {
      throw diskError(operation, this.path, error);
    }
  }
}
