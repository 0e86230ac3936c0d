import { isSurelyGone } from "../../../node/ProcessIdentity.ts";
import type { OwnerState } from "../../RecordLog.ts";
import type { AgentFolder } from "../layout/AgentFolder.ts";
import { OwnerSightings, type Surroundings } from "./OwnerSightings.ts";
import { lineBreak, parseClaim } from "../layout/Segment.ts";
import { type Claim, isEnding } from "../layout/controlLine.ts";

/** The longest claim: an agent id of 1,024 bytes, each written as an escape of six, and the rest. */
const claimBytes = 8 * 1024;
/** More than a `closed` or `dropped` line has. */
const endingBytes = 256;

/** The owner of a segment, as far as this process can tell. */
export interface Judgement {
  /** `free` when the segment ends with `closed` or `dropped`. */
  readonly state: OwnerState | "free";
  /** `undefined` only where a file system without `link` let a claim be torn. */
  readonly claim: Claim | undefined;
  /** Milliseconds after which an owner that does not renew will have been silent for a lease. */
  readonly retryAfterMs: number;
}

/**
 * Judges owners. An owner is silent when its `.alive` file was unchanged for its lease by a monotonic clock of this
 * machine: other clocks, and the times of files, are not to be trusted.
 */
export class OwnerLiveness {
  readonly #surroundings: Surroundings;
  readonly #sightings: OwnerSightings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#sightings = new OwnerSightings(surroundings);
  }

  /** `undefined` when the segment is not there. */
  async judge(folder: AgentFolder, generation: number): Promise<Judgement | undefined> {
    const { disk, sha256, leaseMs } = this.#surroundings;
    const path = folder.segment(generation);
    const size = (await disk.stat(path))?.size;
    const head = await disk.readFile(path, 0, claimBytes);
    if (size === undefined || head === undefined) return undefined;
    const claimEnd = head.indexOf(lineBreak);
    const claim =
      claimEnd < 0 ? undefined : parseClaim(folder.agentId, generation, path, head.subarray(0, claimEnd), sha256);
    const tail = await disk.readFile(path, Math.max(0, size - endingBytes), endingBytes);
    if (tail === undefined) return undefined;
    if (this.#isEnded(tail)) return { state: "free", claim, retryAfterMs: 0 };
    if (claim !== undefined && this.#isGone(claim, path)) return { state: "gone", claim, retryAfterMs: 0 };
    const retryAfterMs = (claim?.leaseMs ?? leaseMs) - (await this.#unchangedForMs(folder, generation, claim));
    return { state: retryAfterMs > 0 ? "alive" : "silent", claim, retryAfterMs: Math.max(0, retryAfterMs) };
  }

  /** Forgets what was seen of the owners of an agent. */
  forget(agentId: string): void {
    this.#sightings.forget(agentId);
  }

  #isEnded(tail: Buffer): boolean {
    if (tail.at(-1) !== lineBreak) return false;
    return isEnding(tail.subarray(tail.lastIndexOf(lineBreak, tail.length - 2) + 1, -1), this.#surroundings.sha256);
  }

  #isGone(claim: Claim, path: string): boolean {
    return isReleasedGeneration(path, claim.nonce) || isSurelyGone(claim, this.#surroundings.identity);
  }

  async #unchangedForMs(folder: AgentFolder, generation: number, claim: Claim | undefined): Promise<number> {
    const alive = await this.#surroundings.disk.readFile(folder.alive(generation), 0, endingBytes);
    const seen = `${generation} ${claim?.nonce ?? ""} ${alive?.toString("latin1") ?? ""}`;
    return this.#sightings.unchangedForMs(folder, generation, seen);
  }
}

/**
 * Owners in this process that ended without a `closed` line, because the storage failed under them. Their process still
 * runs, so other processes notice only their silence. The set holds ended owners and not live ones, since another thread
 * or another copy of this library in the process has owners of its own.
 */
const finished = new Set<string>();

/** @param segment the path of the segment that the owner wrote, or may have made before it failed. */
export function releaseGeneration(segment: string, nonce: string): void {
  finished.add(`${nonce} ${segment}`);
}

export function isReleasedGeneration(segment: string, nonce: string): boolean {
  return finished.has(`${nonce} ${segment}`);
}
