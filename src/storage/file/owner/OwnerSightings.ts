import type { Clock } from "../../../internal/Clock.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { ProcessIdentity } from "../../../node/ProcessIdentity.ts";
import { type AgentFolder, replaceAtomically } from "../layout/AgentFolder.ts";
import { decodeControl, encodeControl, type Sighting } from "../layout/controlLine.ts";

/** The surroundings of this process, by which it judges owners. */
export interface Surroundings {
  readonly disk: Disk;
  readonly sha256: Sha256;
  readonly clock: Clock;
  readonly identity: ProcessIdentity;
  readonly leaseMs: number;
}

/** More than a sighting has, unless an owner has a nonce of many kilobytes. */
const sightingBytes = 16 * 1024;

/**
 * Since when owners have shown no new sign of life. Kept in memory by the clock of this process, and in a file by a clock
 * that all processes of this boot share: so processes that live for less than a lease can tell an owner that is silent.
 */
export class OwnerSightings {
  readonly #surroundings: Surroundings;
  readonly #inMemory = new Map<string, { readonly seen: string; readonly sinceMs: number }>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** How many milliseconds it has been known that what is seen of an owner is unchanged; 0 for what is new. */
  async unchangedForMs(folder: AgentFolder, generation: number, seen: string): Promise<number> {
    const now = this.#surroundings.clock.monotonic();
    const known = this.#inMemory.get(folder.agentId);
    const inMemory = known?.seen === seen ? now - known.sinceMs : undefined;
    if (inMemory === undefined) this.#inMemory.set(folder.agentId, { seen, sinceMs: now });
    // Sightings in a file are a help: a folder that cannot be read or written is not.
    const inFile = await this.#inFileForMs(folder, generation, seen, inMemory === undefined).catch(() => 0);
    return Math.max(inMemory ?? 0, inFile);
  }

  /** Forgets what was seen of the owners of an agent. The next owner removes the files of those before it. */
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
