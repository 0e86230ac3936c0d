import { randomBytes } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import type { FilePlace } from "./ConfinedFolder.ts";
import type { Phases } from "./inPhases.ts";
import { createDescriptor, syncDescriptor } from "./OpenFolder.ts";

const suffix = ".agent-tmp";
/** Flags to open a file without following a link or waiting for a pipe. */
const unfollowed = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const unfinished = /^\.[0-9a-f]{16}-[0-9a-f]{16}\.agent-tmp$/;

export function isUnfinished(name: string): boolean {
  return unfinished.test(name);
}

/** The names of temporary files that this process is writing. */
const writing = new Set<string>();

/** Removes temporary files of interrupted writes to these names in a directory. */
export function removeUnfinished(folder: string, names: readonly string[]): void {
  const found = readdirSync(folder).filter(isUnfinished);
  if (found.length === 0) return;
  const prefixes = new Set(names.map(prefixOf));
  const isLeft = (name: string) => prefixes.has(name.slice(0, prefixLength)) && !isWriting(folder, name);
  for (const name of found.filter(isLeft)) discard({ at: join(folder, name) });
}

/** Writes a temporary file or link next to its target, durably. */
export async function stageState(
  place: FilePlace,
  state: FileState,
  content: Uint8Array | undefined,
  phases?: Phases,
): Promise<StagedFile> {
  if (state.kind === "file") {
    // An empty file in place of a missing content would lose data.
    if (content?.length !== state.bytes) throw new TypeError("the content of the file is missing");
    return stage(place, content, { mode: state.mode, phases });
  }
  const at = temporaryName(place);
  try {
    symlinkSync(state.target, at);
    return { at };
  } catch (error) {
    discard({ at });
    throw error;
  }
}

/** @param replaced the stats of the replaced entry. `undefined` without one */
export function putStaged(place: FilePlace, staged: StagedFile, replaced: BigIntStats | undefined): void {
  try {
    if (replaced?.isFile()) keepOwner(staged, Number(replaced.uid), Number(replaced.gid));
    renameSync(staged.at, place.at);
    writing.delete(basename(staged.at));
  } catch (error) {
    discard(staged);
    throw error;
  }
}

/** Gives a new file the owner and group of the file that it replaces, or only the group, if this process may. */
function keepOwner({ at, written }: StagedFile, uid: number, gid: number): void {
  if (!written || (written.uid === uid && written.gid === gid)) return;
  try {
    const descriptor = openSync(at, unfollowed);
    try {
      const { dev, ino } = fstatSync(descriptor);
      // Another process may have put a hard link to a foreign file at the path.
      if (dev === written.dev && ino === written.ino) fchownSync(descriptor, uid, gid);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Only a privileged process may give a file to another user. A member of the group may give it to the group.
    if (uid !== written.uid) keepOwner({ at, written }, written.uid, gid);
  }
}

/** A durable temporary file or link next to its target. */
export interface StagedFile {
  readonly at: string;
  /** Omitted for a link. */
  readonly written?: Pick<Stats, "dev" | "ino" | "uid" | "gid">;
}

/** Writes the new content to a temporary file next to the target, durably. */
export async function stage(
  place: FilePlace,
  content: Uint8Array,
  { mode, phases }: { readonly mode: number; readonly phases?: Phases | undefined },
): Promise<StagedFile> {
  const at = temporaryName(place);
  const descriptor = await createDescriptor(at, mode).catch((error: unknown) => {
    discard({ at });
    throw error;
  });
  try {
    writeFileSync(descriptor, content);
    const written = fstatSync(descriptor);
    // The umask may have removed permissions.
    if ((written.mode & 0o777) !== mode) fchmodSync(descriptor, mode);
    await phases?.next();
    await syncDescriptor(descriptor);
    await phases?.next();
    return { at, written };
  } catch (error) {
    discard({ at });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

export function discard({ at }: StagedFile): void {
  writing.delete(basename(at));
  try {
    unlinkSync(at);
  } catch {
    // The next restore of the file removes it.
  }
}

function temporaryName(place: FilePlace): string {
  const id = process.pid.toString(16).padStart(8, "0") + randomBytes(4).toString("hex");
  const name = `${prefixOf(basename(place.at))}${id}${suffix}`;
  writing.add(name);
  return join(place.folder, name);
}

/**
 * Returns whether the process whose id is in the name of a temporary file may still write the file. A later process can
 * have the same id, so an old file counts as interrupted.
 */
function isWriting(folder: string, name: string): boolean {
  const id = Number.parseInt(name.slice(prefixLength, prefixLength + 8), 16);
  if (id === process.pid) return writing.has(name);
  try {
    return Date.now() - lstatSync(join(folder, name)).mtimeMs < longestWriteMs && process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const prefixLength = 18;
const longestWriteMs = 600_000;

function prefixOf(name: string): string {
  return `.${nodeSha256.hex(name).slice(0, prefixLength - 2)}-`;
}
