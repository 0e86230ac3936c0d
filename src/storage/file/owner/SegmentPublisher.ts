import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import type { Disk, DiskFile } from "../../../nodejs/Disk.ts";

/**
 * Publishes complete segments. The initial bytes are durable before the segment gets its name, and `link` resolves
 * conflicts between two publishers. If the file system does not have `link`, this is detected on first use. Segments
 * are then created in place, which is safe for only one process.
 */
export class SegmentPublisher {
  readonly #disk: Disk;
  #linkSupported = true;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** `false` after a file system rejected a link. */
  get linkSupported(): boolean {
    return this.#linkSupported;
  }

  /**
   * Publishes a new segment, open for appending. Returns `undefined` if its generation is in use or its temporary file
   * was removed. Its temporary file has the number of the generation before it, so that the owner of this generation
   * can remove the files of other attempts to publish it.
   */
  async publish(folder: AgentFolder, generation: number, bytes: Uint8Array): Promise<DiskFile | undefined> {
    const temporary = join(folder.temporary, `${generation - 1}-${randomUUID()}`);
    const file = this.#linkSupported
      ? await this.#create(temporary, bytes)
      : await this.#create(folder.segment(generation), bytes);
    if (file === undefined) return undefined;
    try {
      const outcome = this.#linkSupported ? await this.#disk.link(temporary, folder.segment(generation)) : "linked";
      if (outcome === "linked") await this.#disk.fsyncDir(folder.checkpoints);
      if (outcome === "linked") return file;
      if (outcome === "unsupported") this.#linkSupported = false;
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    } finally {
      // A later owner removes a remaining file.
      await this.#disk.unlink(temporary).catch(() => {});
    }
    await file.close();
    return this.#linkSupported ? undefined : this.publish(folder, generation, bytes);
  }

  /** Writes the initial bytes of a segment to a temporary file. A failure leaves no file. */
  async prepare(
    folder: AgentFolder,
    generation: number,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<DiskFile | undefined> {
    const file = await this.#disk.create(join(folder.temporary, `${generation}-${randomUUID()}`));
    try {
      if (file) await writeAll(file, bytes);
      await file?.fsync();
      return file;
    } catch (error) {
      if (file) await this.discard(file);
      throw error;
    }
  }

  /** Publishes a prepared file as a segment, or discards it if its generation is in use or the file is missing. */
  async publishPrepared(folder: AgentFolder, generation: number, file: DiskFile): Promise<DiskFile | undefined> {
    let isPublished = false;
    try {
      const isNamed = await this.#name(file.path, folder.segment(generation));
      if (isNamed) await this.#disk.fsyncDir(folder.checkpoints);
      isPublished = isNamed;
    } finally {
      if (isPublished) await this.#disk.unlink(file.path).catch(() => {});
      else await this.discard(file);
    }
    return isPublished ? file : undefined;
  }

  async discard(file: DiskFile): Promise<void> {
    await file.close().catch(() => {});
    await this.#disk.unlink(file.path).catch(() => {});
  }

  /** Gives a file its name. Without hard links, checks and renames, which is safe for only one process. */
  async #name(temporary: string, path: string): Promise<boolean> {
    const outcome = this.#linkSupported ? await this.#disk.link(temporary, path) : "unsupported";
    if (outcome !== "unsupported") return outcome === "linked";
    this.#linkSupported = false;
    if ((await this.#disk.stat(path)) !== undefined) return false;
    await this.#disk.rename(temporary, path);
    return true;
  }

  async #create(path: string, bytes: Uint8Array): Promise<DiskFile | undefined> {
    const file = await this.#disk.create(path, { synced: true });
    try {
      await file?.store(bytes);
      return file;
    } catch (error) {
      await file?.close().catch(() => {});
      // A segment that was created in place keeps its number, which is never reused.
      if (this.#linkSupported) await this.#disk.unlink(path).catch(() => {});
      throw error;
    }
  }
}

/** Writes each part while the next part is created. When the function returns, no write is pending. */
async function writeAll(file: DiskFile, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let writing: Promise<void> | undefined;
  try {
    for await (const part of bytes) {
      await writing;
      writing = file.write(part);
      // The next await reports the error.
      writing.catch(() => {});
    }
    await writing;
  } finally {
    await writing?.catch(() => {});
  }
}
