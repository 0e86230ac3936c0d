import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import type { Disk } from "../../../node/Disk.ts";

/**
 * A file of a few blocks that holds nothing. On a full device it is removed, so that there is room to record what is to
 * be deleted; it is made again after that.
 */
export class DiskReserve {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #bytes: number;
  /** `unknown` until this process has looked. */
  #state: "unknown" | "kept" | "released" = "unknown";

  /** @param bytes how large it is; 0: there is none. */
  constructor(disk: Disk, path: string, bytes: number) {
    this.#disk = disk;
    this.#path = path;
    this.#bytes = bytes;
  }

  /** Makes the file if this process has not looked for it yet. Its folder is there. */
  async keep(): Promise<void> {
    if (this.#state === "unknown") await this.#make();
  }

  /** Makes the file again after a {@link release}. */
  async renew(): Promise<void> {
    if (this.#state === "released") await this.#make();
  }

  /** Removes the file. False: there was none. */
  async release(): Promise<boolean> {
    if (this.#bytes === 0 || (await this.#disk.stat(this.#path)) === undefined) return false;
    this.#state = "released";
    await this.#disk.unlink(this.#path);
    // Some file systems give blocks back with the next sync.
    await this.#disk.fsyncDir(dirname(this.#path));
    return true;
  }

  /** A device that has no room for it has none for a reserve. */
  async #make(): Promise<void> {
    this.#state = "kept";
    if (this.#bytes === 0) return;
    const file = await this.#disk.create(this.#path).catch(() => undefined);
    try {
      // Some file systems store nothing for bytes that are all the same.
      await file?.write(randomBytes(this.#bytes));
    } catch {
      await this.#disk.unlink(this.#path).catch(() => {});
    } finally {
      await file?.close().catch(() => {});
    }
  }
}
