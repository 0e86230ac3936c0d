import { lstatSync, renameSync } from "node:fs";
import { basename } from "node:path";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";
import { fileIn, type FoundFile, readContentSync, readFile } from "./readFile.ts";
import { discard, removeUnfinished, stage } from "./replaceFile.ts";

/** A replacement of a file, and the state that it must have until then. */
export interface GuardedReplacement {
  /** SHA-256 of the content that the file must have; empty: there must be no file. */
  readonly expectedHash: string;
  readonly content: Uint8Array;
  /** The mode of a new file. An existing one keeps its mode. */
  readonly newMode: number;
  /** Larger files are not read. */
  readonly maximumBytes: number;
  /** Called when the new content is on the disk, before the last look at the file. If it throws, nothing is replaced. */
  readonly beforeReplacing: () => void;
}

/** The outcome: replaced, with the time stamp of the new file, or what was found instead. */
export type GuardedOutcome =
  | { readonly replaced: true; readonly mtime: Date }
  | { readonly replaced: false; readonly found: FoundFile };

/** A file that changed more recently may have changed again with the same time stamp. */
const settledAfterMs = 100;

/**
 * Replaces a file only if it has the expected content. The new content is written and synced first. Then the file is looked
 * at once more, and renamed over without a turn of the event loop in between. Removes what interrupted writes of it left.
 *
 * @throws FileAccessError
 */
export async function replaceUnchanged(place: FilePlace, request: GuardedReplacement): Promise<GuardedOutcome> {
  const first = await lookAt(place, request);
  if (!first.isExpected) return { replaced: false, found: first.found };
  await removeUnfinished(place.folder, [basename(place.at)]);
  const mode = first.found.kind === "file" && first.found.state.kind === "file" ? first.found.state.mode : undefined;
  const staged = await stage(place, request.content, mode ?? request.newMode);
  try {
    const second = await lookAt(place, request);
    request.beforeReplacing();
    if (!second.isExpected || !isStillExpected(place, second, request)) {
      await discard(staged);
      return { replaced: false, found: await readFile(place, request.maximumBytes) };
    }
    renameSync(staged.at, place.at);
  } catch (error) {
    await discard(staged);
    throw error instanceof Error && "syscall" in error
      ? new FileAccessError(place.path, systemReason(error), { cause: error })
      : error;
  }
  await place.sync();
  return { replaced: true, mtime: staged.mtime };
}

interface Look {
  readonly found: FoundFile;
  readonly isExpected: boolean;
  /** Taken before the content was read; absent when there was no file. */
  readonly stamp: Stamp | undefined;
}

interface Stamp {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

async function lookAt(place: FilePlace, { expectedHash, maximumBytes }: GuardedReplacement): Promise<Look> {
  const stamp = stampOf(place);
  const found = await readFile(place, maximumBytes);
  return { found, stamp, isExpected: hashOf(found, place) === expectedHash };
}

/** Compares the time stamps; reads a file again only if its last change is so recent that its time proves nothing. */
function isStillExpected(place: FilePlace, { stamp }: Look, { expectedHash }: GuardedReplacement): boolean {
  const now = stampOf(place);
  if (stamp === undefined || now === undefined) return stamp === now;
  const isSettled = Date.now() - Number(now.ctimeNs / 1_000_000n) > settledAfterMs;
  if (isSettled && isSameStamp(stamp, now)) return true;
  const content = readContentSync(place.at);
  return content !== undefined && nodeSha256.hex(content) === expectedHash;
}

function hashOf(found: FoundFile, { path }: FilePlace): string {
  return found.kind === "missing" ? "" : nodeSha256.hex(fileIn(found, path).content);
}

function stampOf(place: FilePlace): Stamp | undefined {
  return lstatSync(place.at, { bigint: true, throwIfNoEntry: false });
}

function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.ino === other.ino && one.size === other.size && one.mtimeNs === other.mtimeNs && one.ctimeNs === other.ctimeNs
  );
}
