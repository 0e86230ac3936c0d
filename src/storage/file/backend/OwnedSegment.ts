import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import { type AgentFolder, segmentGenerations } from "../format/AgentFolder.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { DiskFile } from "../../../node/DiskFile.ts";

/** The segment that an owner writes. */
export class OwnedSegment {
  readonly generation: number;
  readonly #folder: AgentFolder;
  readonly #disk: Disk;
  readonly #file: DiskFile;

  constructor(folder: AgentFolder, disk: Disk, generation: number, file: DiskFile) {
    this.#folder = folder;
    this.#disk = disk;
    this.generation = generation;
    this.#file = file;
  }

  /** Durable and still owned when it resolves; after a rejection nothing more may be written to this segment. */
  async store(bytes: Uint8Array): Promise<void> {
    await this.#file.store(bytes);
    await this.check();
  }

  /** For what the next owner can do without. */
  async writeUnsynced(bytes: Uint8Array): Promise<void> {
    await this.#file.write(bytes);
  }

  /**
   * Rejects when there is a higher generation. Whoever becomes owner lists, links and only then reads: if this listing
   * does not show it yet, it will read what was synced before.
   */
  async check(): Promise<void> {
    const names = (await this.#disk.readdir(this.#folder.checkpoints)) ?? [];
    const [highest] = segmentGenerations(names);
    if (highest === this.generation) return;
    throw new OwnershipLostError(this.#folder.agentId, this.generation, highest);
  }

  /** Removes segments that an `open` of this owner has made superfluous. Only after a `check`. */
  async removeOthers(kept: ReadonlySet<number>): Promise<void> {
    const names = (await this.#disk.readdir(this.#folder.checkpoints)) ?? [];
    const superfluous = segmentGenerations(names).filter(
      (generation) => generation < this.generation && !kept.has(generation),
    );
    for (const generation of superfluous) await this.#disk.unlink(this.#folder.segment(generation));
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
