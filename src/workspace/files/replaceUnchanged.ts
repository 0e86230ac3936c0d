import { renameSync } from "node:fs";
import { basename } from "node:path";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspaceErrors.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";
import { isAsSeen, lookAt } from "./Look.ts";
import { fileIn, type FoundFile, readFile } from "./readFile.ts";
import { discard, removeUnfinished, stage } from "./replaceFile.ts";

export interface GuardedReplacement {
  /** SHA-256 of the expected content. Empty if no file is expected. */
  readonly expectedHash: string;
  readonly content: Uint8Array;
  /** The mode of a new file. An existing file keeps its mode. */
  readonly newMode: number;
  readonly maximumBytes: number;
  /**
   * Called after the new content is durable and before the last check of the file. An error prevents the replacement.
   */
  readonly beforeReplacing: () => void;
}

/** The modification time after a replacement, or the entry that was found instead. */
export type GuardedOutcome =
  | { readonly replaced: true; readonly mtime: Date }
  | { readonly replaced: false; readonly found: FoundFile };

/**
 * Replaces a file only if it has the expected content. The new content is written and synced first. The last check and
 * the rename happen in the same turn of the event loop. Also removes temporary files of interrupted writes.
 *
 * @throws FileAccessError
 */
export async function replaceUnchanged(place: FilePlace, request: GuardedReplacement): Promise<GuardedOutcome> {
  const { expectedHash, maximumBytes } = request;
  const { found } = await lookAt(place, maximumBytes);
  if (hashOf(found, place) !== expectedHash) return { replaced: false, found };
  await removeUnfinished(place.folder, [basename(place.at)]);
  const mode = found.kind === "file" && found.state.kind === "file" ? found.state.mode : undefined;
  const staged = await stage(place, request.content, mode ?? request.newMode);
  try {
    const last = await lookAt(place, maximumBytes);
    request.beforeReplacing();
    const isExpected = (now: FileState | undefined) => now?.kind === "file" && now.hash === expectedHash;
    if (hashOf(last.found, place) !== expectedHash || !isAsSeen(place, last, isExpected)) {
      await discard(staged);
      return { replaced: false, found: await readFile(place, maximumBytes) };
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

function hashOf(found: FoundFile, { path }: FilePlace): string {
  return found.kind === "missing" ? "" : nodeSha256.hex(fileIn(found, path).content);
}
