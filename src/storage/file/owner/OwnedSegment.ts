import { OwnershipLostError } from "../../../errors/storageErrors.ts";
import type { Disk, DiskFile } from "../../../nodejs/Disk.ts";
import { type AgentFolder, segmentGenerations } from "../layout/AgentFolder.ts";
import type { Claim } from "../layout/Segment.ts";
import { releaseGeneration } from "./OwnerLiveness.ts";
import type { FileBackend } from "./FileBackend.ts";

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

  /**
   * Appends bytes durably, and checks that the segment is owned. Write no more after a rejection.
   *
   * @returns the generations of all segments, highest first.
   */
  async store(bytes: Uint8Array): Promise<readonly number[]> {
    await this.#file.store(bytes);
    return this.check();
  }

  /** Writes bytes that the next owner does not need, without a sync. */
  async writeUnsynced(bytes: Uint8Array): Promise<void> {
    await this.#file.write(bytes);
  }

  /**
   * Rejects if a higher generation exists. A new owner that this listing misses still reads all bytes synced before,
   * because owners publish their segment before they read the log.
   */
  async check(): Promise<readonly number[]> {
    const generations = segmentGenerations((await this.#disk.readdir(this.#folder.checkpoints)) ?? []);
    const [highest] = generations;
    if (highest === this.generation) return generations;
    throw new OwnershipLostError(this.#folder.agentId, this.generation, highest);
  }

  /** Like {@link check}, for an owner that skipped numbers. Also rejects if another owner used a skipped number. */
  async checkAfter(generation: number): Promise<void> {
    const names = (await this.#disk.readdir(this.#folder.checkpoints)) ?? [];
    const other = segmentGenerations(names).find((found) => found > generation && found !== this.generation);
    if (other !== undefined) throw new OwnershipLostError(this.#folder.agentId, this.generation, other);
    await this.check();
  }

  /** Removes segments that this `open` replaced. @param listed - the result of {@link check} after the `open`. */
  async removeOthers(listed: readonly number[], kept: ReadonlySet<number> = new Set()): Promise<void> {
    const superfluous = listed.filter((generation) => generation < this.generation && !kept.has(generation));
    for (const generation of superfluous) await this.#disk.unlink(this.#folder.segment(generation));
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Publishes a new segment with a claim. `undefined` for a used generation. @param content - bytes, or a file. */
export async function publishSegment(
  backend: FileBackend,
  folder: AgentFolder,
  claim: Claim,
  content: Uint8Array | DiskFile,
): Promise<OwnedSegment | undefined> {
  try {
    const file =
      content instanceof Uint8Array
        ? await backend.publisher.publish(folder, claim.generation, content)
        : await backend.publisher.publishPrepared(folder, claim.generation, content);
    return file && new OwnedSegment(folder, backend.disk, claim.generation, file);
  } catch (error) {
    // The segment may exist although the call failed, but its owner never writes to it.
    releaseGeneration(folder.segment(claim.generation), claim.nonce);
    throw error;
  }
}

/**
 * Publishes the segment that replaces the owner's segment and all older ones. Rejects with `OwnershipLostError` if
 * another owner was faster. Ownership must be checked before older segments are removed. Without this check, an owner
 * that was suspended could publish under a number that is free only because a later owner removed that segment.
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
    await segment.removeOthers(await segment.check());
    return segment;
  } catch (error) {
    releaseGeneration(folder.segment(claim.generation), claim.nonce);
    await segment.close().catch(() => {});
    throw error;
  }
}
