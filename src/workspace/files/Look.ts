import { lstatSync } from "node:fs";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import type { FilePlace } from "./ConfinedFolder.ts";
import { type FoundFile, readFile, readStateSync, stateOf } from "./readFile.ts";

/** What was found at a place, with a stamp that shows whether it changed since. */
export interface Look {
  readonly found: FoundFile;
  /** Taken before the content was read; absent when there was nothing. */
  readonly stamp: Stamp | undefined;
}

interface Stamp {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** A file that changed more recently may have changed again with the same time stamp. */
const settledAfterMs = 100;

/** @throws FileAccessError */
export async function lookAt(place: FilePlace, maximumBytes: number): Promise<Look> {
  const stamp = stampOf(place);
  return { stamp, found: await readFile(place, maximumBytes) };
}

/**
 * Whether a place is as it was at a look: decided without a turn of the event loop, so that a replacement can follow at once.
 * Reads a file again only if its last change is so recent that its time proves nothing.
 *
 * @param isSame default: content, permissions and target are equal.
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
