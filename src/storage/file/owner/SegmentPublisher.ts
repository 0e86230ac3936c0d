import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { DiskFile } from "../../../node/DiskFile.ts";

/**
 * Makes segments appear whole: their first bytes are on the device before they have a name that anyone looks at, and of
 * two that want the same name `link` lets one win. A file system without `link` is noticed at the first try; there a
 * segment is created in place, which only one process at a time may do.
 */
export class SegmentPublisher {
  readonly #disk: Disk;
  #linkSupported = true;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** False once a file system has refused to link. */
  get linkSupported(): boolean {
    return this.#linkSupported;
  }

  /**
   * The new segment, open for appending; `undefined` when its generation is taken. So it is, too, when its first bytes are
   * gone: only an owner that came before, such as one that deletes the agent, removes what others have not finished.
   */
  async publish(folder: AgentFolder, generation: number, bytes: Uint8Array): Promise<DiskFile | undefined> {
    const temporary = join(folder.temporary, `${generation}-${randomUUID()}`);
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
      // What stays behind is removed by a later owner.
      await this.#disk.unlink(temporary).catch(() => {});
    }
    await file.close();
    return this.#linkSupported ? undefined : this.publish(folder, generation, bytes);
  }

  /**
   * Writes the first bytes of a segment to the device, under a name that nobody looks at. What fails leaves nothing.
   *
   * @param generation that of the owner for whom it is.
   */
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
      await file?.close().catch(() => {});
      if (file) await this.#disk.unlink(file.path).catch(() => {});
      throw error;
    }
  }

  /** Makes a file that was prepared a segment; `false` when its generation is taken, or the file is gone. */
  async publishPrepared(folder: AgentFolder, generation: number, file: DiskFile): Promise<boolean> {
    const published = await this.#name(file.path, folder.segment(generation));
    if (published) await this.#disk.fsyncDir(folder.checkpoints);
    await this.#disk.unlink(file.path).catch(() => {});
    return published;
  }

  /** Where names cannot be linked, one process at a time looks and then renames. */
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
      await file?.write(bytes);
      await file?.fsync();
      return file;
    } catch (error) {
      await file?.close().catch(() => {});
      // A segment made in place keeps its number, which is never used again.
      if (this.#linkSupported) await this.#disk.unlink(path).catch(() => {});
      throw error;
    }
  }
}

/** Each part is written while the next one is made. Nothing is being written any more when it ends. */
async function writeAll(file: DiskFile, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  let writing: Promise<void> | undefined;
  try {
    for await (const part of bytes) {
      await writing;
      writing = file.write(part);
      // Whoever awaits it next is told.
      writing.catch(() => {});
    }
    await writing;
  } finally {
    await writing?.catch(() => {});
  }
}
