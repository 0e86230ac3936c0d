import { CorruptLogError } from "../../../errors/storedDataErrors.ts";
import { isSurelyGone, type ProcessIdentity } from "../../../nodejs/ProcessIdentity.ts";
import { addFinished, Sightings } from "../../lease/Sightings.ts";
import type { OwnerState } from "../../RecordLog.ts";
import { type AgentFolder, replaceAtomically } from "../layout/AgentFolder.ts";
import {
  lineBreak,
  parseClaim,
  type Claim,
  isEnding,
  decodeControl,
  encodeControl,
  type Sighting,
} from "../layout/Segment.ts";
import type { Clock } from "../../../internal/Clock.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../nodejs/Disk.ts";

/** More than the size of a sighting, except for owners with a very long nonce. */
const sightingBytes = 16 * 1024;

/** The number of bytes to read first from a segment. They always contain the claim. A small segment fits completely. */
const headBytes = 64 * 1024;
/** More than the size of a `closed` or `dropped` line. */
const endingBytes = 256;

export interface Judgement {
  readonly state: OwnerState | "free";
  /** `undefined` if it is damaged, or if a file system without `link` allowed an incomplete claim. */
  readonly claim: Claim | undefined;
  /** The delay in milliseconds until an owner that does not renew counts as silent. */
  readonly retryAfterMs: number;
  /** The whole segment, if the segment is small and its owner has closed it. */
  readonly bytes?: Buffer;
}

/**
 * Determines whether owners are alive. An owner is silent if its `.alive` file did not change for the time of its
 * lease, measured by a monotonic clock of this machine. Wall clocks and file times are not trusted.
 */
export class OwnerLiveness {
  readonly #surroundings: Surroundings;
  readonly #sightings: OwnerSightings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#sightings = new OwnerSightings(surroundings);
  }

  /** @param mayBeDamaged Treats the owner of a damaged claim like an owner that does not renew. */
  async judge(folder: AgentFolder, generation: number, mayBeDamaged = false): Promise<Judgement | undefined> {
    const { disk, leaseMs } = this.#surroundings;
    const path = folder.segment(generation);
    const head = await disk.readFile(path, 0, headBytes);
    if (head === undefined) return undefined;
    const claim = this.#claim(folder, generation, head, mayBeDamaged);
    const isWhole = head.length < headBytes;
    const tail = isWhole ? head.subarray(-endingBytes) : await this.#tailOf(path);
    if (tail === undefined) return undefined;
    if (this.#isEnded(tail)) {
      this.forget(folder.agentId);
      return { state: "free", claim, retryAfterMs: 0, ...(isWhole && { bytes: head }) };
    }
    if (claim !== undefined && this.#isGone(claim, path)) return { state: "gone", claim, retryAfterMs: 0 };
    const retryAfterMs = (claim?.leaseMs ?? leaseMs) - (await this.#unchangedForMs(folder, generation, claim));
    return { state: retryAfterMs > 0 ? "alive" : "silent", claim, retryAfterMs: Math.max(0, retryAfterMs) };
  }

  forget(agentId: string): void {
    this.#sightings.forget(agentId);
  }

  #claim(folder: AgentFolder, generation: number, head: Buffer, mayBeDamaged: boolean): Claim | undefined {
    const { agentId } = folder;
    const end = head.indexOf(lineBreak);
    if (end < 0) return undefined;
    try {
      const line = head.subarray(0, end);
      return parseClaim(agentId, generation, folder.segment(generation), line, this.#surroundings.sha256);
    } catch (error) {
      if (mayBeDamaged && error instanceof CorruptLogError) return undefined;
      throw error;
    }
  }

  async #tailOf(path: string): Promise<Buffer | undefined> {
    const { disk } = this.#surroundings;
    const size = (await disk.stat(path))?.size;
    return size === undefined ? undefined : disk.readFile(path, Math.max(0, size - endingBytes), endingBytes);
  }

  #isEnded(tail: Buffer): boolean {
    if (tail.at(-1) !== lineBreak) return false;
    return isEnding(tail.subarray(tail.lastIndexOf(lineBreak, tail.length - 2) + 1, -1), this.#surroundings.sha256);
  }

  #isGone(claim: Claim, path: string): boolean {
    return finished.has(`${claim.nonce} ${path}`) || isSurelyGone(claim, this.#surroundings.identity);
  }

  async #unchangedForMs(folder: AgentFolder, generation: number, claim: Claim | undefined): Promise<number> {
    const alive = await this.#surroundings.disk.readFile(folder.alive(generation), 0, endingBytes);
    const seen = `${generation} ${claim?.nonce ?? ""} ${alive?.toString("latin1") ?? ""}`;
    return this.#sightings.unchangedForMs(folder, generation, seen);
  }
}

/**
 * Owners in this process that ended without a `closed` line because the storage failed. Because the process still runs,
 * other processes notice only that these owners are silent. The set contains ended owners, not live owners, because
 * another thread or another copy of this library in the process has its own owners.
 */
const finished = new Set<string>();

/** @param segment - the path of the owner's segment, which may not exist if its creation failed. */
export function releaseGeneration(segment: string, nonce: string): void {
  addFinished(finished, `${nonce} ${segment}`);
}

export interface Surroundings {
  readonly disk: Disk;
  readonly sha256: Sha256;
  readonly clock: Clock;
  readonly identity: ProcessIdentity;
  readonly leaseMs: number;
}

/**
 * Records since when owners have been unchanged. The record in memory is based on the clock of this process. The record
 * in a file is based on a clock that all processes of this boot share. Thus even processes that run for less than a
 * lease can detect a silent owner.
 */
class OwnerSightings {
  readonly #surroundings: Surroundings;
  readonly #inMemory = new Sightings();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Returns the milliseconds since the owner last changed, or 0 if the owner has just changed. */
  async unchangedForMs(folder: AgentFolder, generation: number, seen: string): Promise<number> {
    const now = this.#surroundings.clock.monotonic();
    const inMemory = this.#inMemory.unchangedForMs(folder.agentId, seen, now);
    // The file is optional, so errors are ignored.
    const inFile = await this.#inFileForMs(folder, generation, seen, inMemory === undefined).catch(() => 0);
    return Math.max(inMemory ?? 0, inFile);
  }

  /** Forgets the observed owners of an agent. The next owner removes the files of these observations. */
  forget(agentId: string): void {
    this.#inMemory.forget(agentId);
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
    if (isNew) await this.#write(folder, generation, sighting, bytes === undefined);
    return 0;
  }

  async #write(folder: AgentFolder, generation: number, sighting: Sighting, isFirst: boolean): Promise<void> {
    const { disk, sha256 } = this.#surroundings;
    const line = Buffer.from(encodeControl("seen", sighting, sha256));
    // The file proves that the segment exists, which must then survive a power loss.
    if (isFirst) await disk.fsyncDir(folder.checkpoints);
    await replaceAtomically(disk, folder, folder.seen(generation), generation, line, false);
  }
}
