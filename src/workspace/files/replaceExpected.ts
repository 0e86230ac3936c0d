import { unlinkSync } from "node:fs";
import { type FileState, isSameFile } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspaceErrors.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";
import { isAsSeen, lookAt } from "./Look.ts";
import { type FoundFile, readFile, stateOf } from "./readFile.ts";
import { discard, putStaged, stageState } from "./replaceFile.ts";

/** A replacement of a file or link and its expected state. A missing state means no file. */
export interface ExpectedReplacement {
  readonly expected: FileState | undefined;
  readonly state: FileState | undefined;
  readonly content?: Uint8Array | undefined;
  readonly maximumBytes: number;
}

/**
 * Replaces or removes a file or link only if it has the expected state. The replacement is written and synced first.
 * The last check and the replacement happen in the same turn of the event loop. Does not sync the directory.
 *
 * @returns the unexpected entry, or `undefined` after a replacement
 * @throws FileAccessError
 */
export async function replaceExpected(
  place: FilePlace,
  { expected, state, content, maximumBytes }: ExpectedReplacement,
): Promise<FoundFile | undefined> {
  let staged: Awaited<ReturnType<typeof stageState>> | undefined;
  try {
    staged = state && (await stageState(place, state, content));
    const look = await lookAt(place, maximumBytes);
    const { found } = look;
    const isExpected = found.kind !== "other" && isSameFile(stateOf(found), expected);
    if (!isExpected || !isAsSeen(place, look)) {
      if (staged) await discard(staged);
      return isExpected ? readFile(place, maximumBytes) : found;
    }
    if (staged) putStaged(place, staged);
    else if (found.kind !== "missing") unlinkSync(place.at);
    return undefined;
  } catch (error) {
    if (staged) await discard(staged);
    if (error instanceof FileAccessError) throw error;
    throw new FileAccessError(place.path, systemReason(error), { cause: error });
  }
}
