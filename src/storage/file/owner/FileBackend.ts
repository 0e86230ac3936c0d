import { formatVersion } from "../../../checkpoint/records/Entry.ts";
import type { StatusIndex } from "../index/StatusIndex.ts";
import type { Claim } from "../layout/Segment.ts";
import { processFacts } from "../../../nodejs/ProcessIdentity.ts";
import type { OwnerLiveness, Surroundings } from "./OwnerLiveness.ts";
import type { SegmentPublisher } from "./SegmentPublisher.ts";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import type { Disk, DiskFile } from "../../../nodejs/Disk.ts";

export interface FileBackend extends Surroundings {
  readonly tasks: string;
  readonly index: StatusIndex;
  readonly judge: OwnerLiveness;
  readonly publisher: SegmentPublisher;
  readonly reserve: DiskReserve;
}

export function newClaim(
  { identity, leaseMs }: FileBackend,
  agentId: string,
  generation: number,
  nonce: string,
): Claim {
  return { format: formatVersion, agentId, generation, ...processFacts(identity), nonce, leaseMs };
}

/** A reserve of a few blocks, removed while the device is full so that a deletion can be recorded. */
export class DiskReserve {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #bytes: number;
  #state: "unknown" | "kept" | "released" = "unknown";

  /** @param bytes - the size of the file. 0 disables the reserve. */
  constructor(disk: Disk, path: string, bytes: number) {
    this.#disk = disk;
    this.#path = path;
    this.#bytes = bytes;
  }

  /** Creates the file if this process has not checked for it yet. The directory must exist. */
  async keep(): Promise<void> {
    if (this.#state === "unknown") await this.#make();
  }

  async renew(): Promise<void> {
    if (this.#state === "released") await this.#make();
  }

  async release(): Promise<boolean> {
    if (this.#bytes === 0 || (await this.#disk.stat(this.#path)) === undefined) return false;
    this.#state = "released";
    await this.#disk.unlink(this.#path);
    // Some file systems free blocks only with the next sync.
    await this.#disk.fsyncDir(dirname(this.#path));
    return true;
  }

  /** Ignores a full device, which has no room for a reserve. */
  async #make(): Promise<void> {
    this.#state = "kept";
    if (this.#bytes === 0) return;
    const file = await this.#create().catch(() => undefined);
    try {
      // Writes random bytes, because some file systems store no blocks for repeated bytes.
      await file?.write(randomBytes(this.#bytes));
    } catch {
      this.#state = "released";
      await this.#disk.unlink(this.#path).catch(() => {});
    } finally {
      await file?.close().catch(() => {});
    }
  }

  /** Returns `undefined` if the reserve exists. Replaces a smaller file, which a crash can leave. */
  async #create(): Promise<DiskFile | undefined> {
    const file = await this.#disk.create(this.#path);
    const { size = 0 } = (file ? undefined : await this.#disk.stat(this.#path)) ?? {};
    if (file || size >= this.#bytes) return file;
    await this.#disk.unlink(this.#path);
    return this.#disk.create(this.#path);
  }
}
