import { type BigIntStats, lstatSync, unlinkSync } from "node:fs";
import { basename } from "node:path";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspaceErrors.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";
import type { Phases } from "./inPhases.ts";
import { fileIn, type FoundFile, readFile, stateOf } from "./readFile.ts";
import { discard, removeUnfinished, stage, type StagedFile, putStaged, stageState } from "./StagedFile.ts";

export interface GuardedReplacement {
  /** SHA-256 of the expected content. Empty if no file is expected. */
  readonly expectedHash: string;
  readonly content: Uint8Array;
  /** The mode of a new file. An existing file keeps its permissions. */
  readonly newMode: number;
  readonly maximumBytes: number;
  /** Called when the new content is durable, before the last check. An error prevents the replacement. */
  readonly beforeReplacing: () => void;
}

/** The modification time after a replacement, or the entry that was found instead. */
export type GuardedOutcome =
  | { readonly replaced: true; readonly mtime: Date }
  | { readonly replaced: false; readonly found: FoundFile };

/**
 * Replaces a file with the expected content. Checks the content and renames the new file in one turn of the event loop.
 * Also removes temporary files of interrupted writes.
 *
 * @throws FileAccessError
 */
export async function replaceUnchanged(place: FilePlace, request: GuardedReplacement): Promise<GuardedOutcome> {
  const { expectedHash, maximumBytes } = request;
  const found = readFile(place, maximumBytes);
  if (hashOf(found, place) !== expectedHash) return { replaced: false, found };
  let staged: StagedFile | undefined;
  let mtime: Date;
  try {
    removeUnfinished(place.folder, [basename(place.at)]);
    const mode = found.kind === "file" ? found.state.mode : request.newMode;
    staged = await stage(place, request.content, { mode });
    request.beforeReplacing();
    const last = lookAt(place, maximumBytes);
    if (hashOf(last.found, place) !== expectedHash || !isAsSeen(place, last)) {
      discard(staged);
      return { replaced: false, found: readFile(place, maximumBytes) };
    }
    mtime = lstatSync(staged.at).mtime;
    putStaged(place, staged, last.stamp);
  } catch (error) {
    if (staged) discard(staged);
    throw error instanceof Error && "syscall" in error
      ? new FileAccessError(place.path, systemReason(error), { cause: error })
      : error;
  }
  await place.sync();
  return { replaced: true, mtime };
}

function hashOf(found: FoundFile, { path }: FilePlace): string {
  return found.kind === "missing" ? "" : nodeSha256.hex(fileIn(found, path).content);
}

/** A replacement of a file or link and its expected state. A missing state means no file. */
export interface ExpectedReplacement {
  readonly expected: FileState | undefined;
  readonly state: FileState | undefined;
  readonly content?: Uint8Array | undefined;
  readonly maximumBytes: number;
  readonly phases?: Phases | undefined;
}

/**
 * Replaces or removes a file or link with the expected state. Checks the state and replaces the entry in one turn of
 * the event loop. Does not sync the directory.
 *
 * @returns the unexpected entry, if any.
 * @throws FileAccessError
 */
export async function replaceExpected(
  place: FilePlace,
  { expected, state, content, maximumBytes, phases }: ExpectedReplacement,
): Promise<FoundFile | undefined> {
  let staged: StagedFile | undefined;
  try {
    staged = state && (await stageState(place, state, content, phases));
    while (place.slice.isOver) await place.slice.turn();
    const look = lookAt(place, maximumBytes);
    const unexpected = unexpectedAt(place, look, { expected, maximumBytes });
    if (unexpected && staged) discard(staged);
    if (unexpected) return unexpected;
    if (staged) putStaged(place, staged, look.stamp);
    else if (look.found.kind !== "missing") unlinkSync(place.at);
    return undefined;
  } catch (error) {
    if (staged) discard(staged);
    if (error instanceof FileAccessError) throw error;
    throw new FileAccessError(place.path, systemReason(error), { cause: error });
  }
}

/** Returns the entry at a location, or `undefined` if the entry is expected and unchanged since the look. */
function unexpectedAt(
  place: FilePlace,
  look: Look,
  { expected, maximumBytes }: Pick<ExpectedReplacement, "expected" | "maximumBytes">,
): FoundFile | undefined {
  const { found } = look;
  if (found.kind === "other" || !isSameFile(stateOf(found), expected)) return found;
  return isAsSeen(place, look) ? undefined : readFile(place, maximumBytes);
}

interface Look {
  readonly found: FoundFile;
  /** The stamp before the content was read. `undefined` for a missing entry. */
  readonly stamp: BigIntStats | undefined;
}

/** @throws FileAccessError */
function lookAt(place: FilePlace, maximumBytes: number): Look {
  const stamp = stampOf(place);
  return { stamp, found: stamp ? readFile(place, maximumBytes, stamp) : { kind: "missing" } };
}

/** Returns whether a location did not change while it was read. A replacement can follow immediately. */
function isAsSeen(place: FilePlace, { stamp }: Look): boolean {
  const now = stampOf(place);
  return stamp === undefined || now === undefined ? stamp === now : isSameStamp(stamp, now);
}

function stampOf(place: FilePlace): BigIntStats | undefined {
  return lstatSync(place.at, { bigint: true, throwIfNoEntry: false });
}

function isSameStamp(one: BigIntStats, other: BigIntStats): boolean {
  return (
    one.ino === other.ino && one.size === other.size && one.mtimeNs === other.mtimeNs && one.ctimeNs === other.ctimeNs
  );
}
