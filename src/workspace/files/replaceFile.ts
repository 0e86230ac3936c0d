import { randomBytes } from "node:crypto";
import { constants, renameSync, rmSync } from "node:fs";
import { open, readdir, symlink, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";

const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0);
const suffix = ".agent-tmp";

const unfinished = /^\.[0-9a-f]{16}-[0-9a-f]{16}\.agent-tmp$/;

/** Whether a name is that of a temporary file, left by an interrupted write. */
export function isUnfinished(name: string): boolean {
  return unfinished.test(name);
}

/**
 * Replaces or removes a file or a link atomically: a reader sees the old or the new content, never a mix. The change is
 * durable when it resolves. @throws FileAccessError
 */
export async function replaceFile(
  place: FilePlace,
  state: FileState | undefined,
  content: Uint8Array = new Uint8Array(),
): Promise<void> {
  try {
    if (state === undefined) await unlink(place.at);
    else await putInPlace(place, state, content);
    await place.sync();
  } catch (error) {
    if (state === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw new FileAccessError(place.path, systemReason(error), { cause: error });
  }
}

/** Removes temporary files that interrupted writes of the files with these names left in a folder. */
export async function removeUnfinished(folder: string, names: readonly string[]): Promise<void> {
  const prefixes = new Set(names.map(prefixOf));
  const left = (await readdir(folder)).filter(
    (name) => isUnfinished(name) && prefixes.has(name.slice(0, prefixLength)),
  );
  for (const name of left) await unlink(join(folder, name)).catch(() => undefined);
}

async function putInPlace(place: FilePlace, state: FileState, content: Uint8Array): Promise<void> {
  putStaged(place, await stageState(place, state, content));
}

/** Writes a file or a link beside the place where it is to be, durably. */
export async function stageState(
  place: FilePlace,
  state: FileState,
  content: Uint8Array = new Uint8Array(),
): Promise<Pick<StagedFile, "at">> {
  if (state.kind === "file") return stage(place, content, state.mode);
  const at = temporaryName(place);
  await symlink(state.target, at);
  return { at };
}

/** Puts what was staged in its place, at once. */
export function putStaged(place: FilePlace, staged: Pick<StagedFile, "at">): void {
  try {
    renameSync(staged.at, place.at);
  } catch (error) {
    rmSync(staged.at, { force: true });
    throw error;
  }
}

/** A new content of a file, complete on the disk beside it. */
export interface StagedFile {
  /** The temporary file. */
  readonly at: string;
  readonly mtime: Date;
}

/** Writes the new content of a file beside it, durably. The file itself does not change. */
export async function stage(place: FilePlace, content: Uint8Array, mode: number): Promise<StagedFile> {
  const at = temporaryName(place);
  const handle = await open(at, flags, 0o600);
  try {
    await handle.writeFile(content);
    await handle.chmod(mode);
    await handle.sync();
    return { at, mtime: (await handle.stat()).mtime };
  } catch (error) {
    await discard({ at });
    throw error;
  } finally {
    await handle.close();
  }
}

export async function discard({ at }: Pick<StagedFile, "at">): Promise<void> {
  await unlink(at).catch(() => undefined);
}

function temporaryName(place: FilePlace): string {
  return join(place.folder, `${prefixOf(basename(place.at))}${randomBytes(8).toString("hex")}${suffix}`);
}

const prefixLength = 18;

function prefixOf(name: string): string {
  return `.${nodeSha256.hex(name).slice(0, prefixLength - 2)}-`;
}
