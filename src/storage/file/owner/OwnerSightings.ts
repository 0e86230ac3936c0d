import type { Clock } from "../../../internal/Clock.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { ProcessIdentity } from "../../../node/ProcessIdentity.ts";
import { type AgentFolder, replaceAtomically } from "../layout/AgentFolder.ts";
import { decodeControl, encodeControl, type Sighting } from "../layout/controlLine.ts";

export interface Surroundings {
  readonly disk: Disk;
  readonly sha256: Sha256;
  readonly clock: Clock;
  readonly identity: ProcessIdentity;
  readonly leaseMs: number;
}

/** More than the size of a sighting, except for owners with a very long nonce. */
const sightingBytes = 16 * 1024;

/**
 * Records since when owners have been unchanged. Kept in memory, based on the clock of this process, and in a file,
 * based on a clock that all processes of this boot share. Thus even processes that run for less than a lease can detect
 * a silent owner.
 */
export class OwnerSightings {
  readonly #surroundings: Surroundings;
  readonly #inMemory = new Map<string, { readonly seen: string; readonly sinceMs: number }>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Returns for how many milliseconds the owner has been unchanged, or 0 after a change. */
  async unchangedForMs(folder: AgentFolder, generation: number, seen: string): Promise<number> {
    const now = this.#surroundings.clock.monotonic();
    const known = this.#inMemory.get(folder.agentId);
    const inMemory = known?.seen === seen ? now - known.sinceMs : undefined;
    if (inMemory === undefined) this.#inMemory.set(folder.agentId, { seen, sinceMs: now });
    // The file is optional, so errors are ignored.
    const inFile = await this.#inFileForMs(folder, generation, seen, inMemory === undefined).catch(() => 0);
    return Math.max(inMemory ?? 0, inFile);
  }

  /** Forgets the observed owners of an agent. The next owner removes their files. */
  forget(agentId: string): void {
    this.#inMemory.delete(agentId);
  }

  async #inFileForMs(folder: AgentFolder, generation: number, seen: string, isNew: boolean): Promise<number> {
    const { disk, sha256, identity } = this.#surroundings;
    const atMs = identity.sinceBootMs?.();
    if (atMs === undefined) return 0;
    const { bootId, timeNamespace = "" } = identity;
    const bytes = await disk.readFile(folder.seen(generation), 0, sightingBytes);
    const found = bytes && decodeControl("seen", bytes.subarray(0, -1), sha256);
    const isSame = found?.seen === seen && found.bootId === bootId && found.timeNamespace === timeNamespace;
    if (isSame && found.atMs <= atMs) return atMs - found.atMs;
    const sighting: Sighting = { seen, atMs, bootId, timeNamespace };
    const line = Buffer.from(encodeControl("seen", sighting, sha256));
    if (isNew) await replaceAtomically(disk, folder, folder.seen(generation), generation, line, false);
    return 0;
  }
}
