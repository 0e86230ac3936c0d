import { OwnershipLostError } from "../../../errors/storage/OwnershipLostError.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { DiskFile } from "../../../node/DiskFile.ts";
import { type AgentFolder, segmentGenerations } from "../layout/AgentFolder.ts";
import type { Claim } from "../layout/controlLine.ts";
import { releaseGeneration } from "./OwnerLiveness.ts";
import type { FileBackend } from "./FileBackend.ts";

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

  /** As {@link check}, for an owner that has left out numbers: nobody may have come between. */
  async checkAfter(generation: number): Promise<void> {
    const names = (await this.#disk.readdir(this.#folder.checkpoints)) ?? [];
    const other = segmentGenerations(names).find((found) => found > generation && found !== this.generation);
    if (other !== undefined) throw new OwnershipLostError(this.#folder.agentId, this.generation, other);
    await this.check();
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

/**
 * A new segment under a claim; `undefined` when its generation is taken.
 *
 * @param content its first bytes, or a file that was prepared with them.
 */
export async function publishSegment(
  backend: FileBackend,
  folder: AgentFolder,
  claim: Claim,
  content: Uint8Array | DiskFile,
): Promise<OwnedSegment | undefined> {
  try {
    const file = await publishContent(backend, folder, claim, content);
    return file && new OwnedSegment(folder, backend.disk, claim.generation, file);
  } catch (error) {
    // The segment may exist all the same, without an owner that writes it.
    releaseGeneration(folder.segment(claim.generation), claim.nonce);
    throw error;
  }
}

async function publishContent(
  { publisher }: FileBackend,
  folder: AgentFolder,
  { generation }: Claim,
  content: Uint8Array | DiskFile,
): Promise<DiskFile | undefined> {
  if (content instanceof Uint8Array) return publisher.publish(folder, generation, content);
  if (await publisher.publishPrepared(folder, generation, content)) return content;
  await content.close();
  return undefined;
}

/**
 * The segment that follows an owner's own and replaces all before it. Rejects with `OwnershipLostError` when another
 * owner came first. The check before anything is removed is vital: an owner that slept may link a number that is free only
 * because a later owner removed it.
 */
export async function publishReplacement(
  backend: FileBackend,
  folder: AgentFolder,
  claim: Claim,
  content: Uint8Array | DiskFile,
): Promise<OwnedSegment> {
  const segment = await publishSegment(backend, folder, claim, content);
  if (segment === undefined) throw new OwnershipLostError(folder.agentId, claim.generation - 1, claim.generation);
  try {
    await segment.check();
    await segment.removeOthers(new Set());
    return segment;
  } catch (error) {
    releaseGeneration(folder.segment(claim.generation), claim.nonce);
    await segment.close().catch(() => {});
    throw error;
  }
}
