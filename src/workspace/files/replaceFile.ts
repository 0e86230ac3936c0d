import { randomBytes } from "node:crypto";
import { constants, renameSync, rmSync } from "node:fs";
import { open, readdir, symlink, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspaceErrors.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";

const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0);
const suffix = ".agent-tmp";

const unfinished = /^\.[0-9a-f]{16}-[0-9a-f]{16}\.agent-tmp$/;

export function isUnfinished(name: string): boolean {
  return unfinished.test(name);
}

/**
 * Replaces or removes a file or a link atomically. Readers see either the old or the new content. Durable when it
 * resolves.
 *
 * @throws FileAccessError
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

/** Removes temporary files of interrupted writes to these names in a directory. */
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

/** Writes a temporary file or link next to its target, durably. */
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

export function putStaged(place: FilePlace, staged: Pick<StagedFile, "at">): void {
  try {
    renameSync(staged.at, place.at);
  } catch (error) {
    rmSync(staged.at, { force: true });
    throw error;
  }
}

/** The new content of a file in a durable temporary file. */
export interface StagedFile {
  readonly at: string;
  readonly mtime: Date;
}

/** Writes the new content to a temporary file next to the target, durably. */
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
