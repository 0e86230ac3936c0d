import { lstatSync } from "node:fs";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import type { FilePlace } from "./ConfinedFolder.ts";
import { type FoundFile, readFile, readStateSync, stateOf } from "./readFile.ts";

export interface Look {
  readonly found: FoundFile;
  /** Taken before the content was read. `undefined` for a missing entry. */
  readonly stamp: Stamp | undefined;
}

interface Stamp {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** A more recent change may be followed by another one with the same time. */
const settledAfterMs = 100;

/** @throws FileAccessError */
export async function lookAt(place: FilePlace, maximumBytes: number): Promise<Look> {
  const stamp = stampOf(place);
  return { stamp, found: await readFile(place, maximumBytes) };
}

/**
 * Returns whether a location is unchanged. Works synchronously, so that a replacement can follow immediately. Reads the
 * file again only if its last change is too recent for its time to be reliable.
 *
 * @param isSame defaults to comparing content, permissions and link target
 */
export function isAsSeen(
  place: FilePlace,
  { stamp, found }: Look,
  isSame: (now: FileState | undefined) => boolean = (now) => isSameFile(now, stateOf(found)),
): boolean {
  const now = stampOf(place);
  if (stamp === undefined || now === undefined) return stamp === now;
  const isSettled = Date.now() - Number(now.ctimeNs / 1_000_000n) > settledAfterMs;
  return (isSettled && isSameStamp(stamp, now)) || isSame(readStateSync(place.at));
}

function stampOf(place: FilePlace): Stamp | undefined {
  return lstatSync(place.at, { bigint: true, throwIfNoEntry: false });
}

function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.ino === other.ino && one.size === other.size && one.mtimeNs === other.mtimeNs && one.ctimeNs === other.ctimeNs
  );
}
