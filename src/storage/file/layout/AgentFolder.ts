import { StorageError } from "../../../errors/storageErrors.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../nodejs/Disk.ts";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";

const folderName = /^[a-z0-9][a-z0-9-]{0,23}-[0-9a-f]{40}$/;
export const highestGeneration = 999_999_999_999_999;
const segmentName = /^([1-9][0-9]{0,14})\.jsonl$/;

/**
 * The paths of one agent's files. The directory name contains only a-z, 0-9 and "-", and ends with a hash of the id.
 * Thus an id cannot leave the parent directory, collide with another id or match a reserved system name.
 */
export class AgentFolder {
  readonly path: string;
  readonly checkpoints: string;
  readonly blobs: string;
  readonly owners: string;
  readonly temporary: string;
  readonly state: string;

  constructor(
    readonly tasks: string,
    readonly agentId: string,
    sha256: Sha256,
  ) {
    this.path = join(tasks, agentFolderName(agentId, sha256));
    this.checkpoints = join(this.path, "checkpoints");
    this.blobs = join(this.path, "blobs");
    this.owners = join(this.path, "owners");
    this.temporary = join(this.path, "tmp");
    this.state = join(this.path, "state.json");
  }

  segment(generation: number): string {
    return join(this.checkpoints, `${generation}.jsonl`);
  }

  alive(generation: number): string {
    return join(this.owners, `${generation}.alive`);
  }

  seen(generation: number): string {
    return join(this.owners, `${generation}.seen`);
  }

  stop(generation: number): string {
    return join(this.owners, `${generation}.stop`);
  }
}

/** Returns a readable prefix of the id and 160 bits of its SHA-256. */
export function agentFolderName(agentId: string, sha256: Sha256): string {
  const readable = agentId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 24);
  return `${readable === "" ? "id" : readable}-${sha256.hex(agentId).slice(0, 40)}`;
}

export function isAgentFolderName(name: string): boolean {
  return folderName.test(name);
}

export function segmentGenerations(names: readonly string[]): number[] {
  return names
    .flatMap((name) => segmentName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
}

/**
 * Creates the directories of an agent and syncs them together, which is about as fast as one sync. Also syncs existing
 * directories without a segment, because another process may not have.
 */
export async function ensureAgentFolder(disk: Disk, folder: AgentFolder): Promise<void> {
  const directory = dirname(folder.tasks);
  const syncs = await disk.mkdirs(directory);
  const { tasks, path, owners, blobs, temporary, checkpoints } = folder;
  for (const each of [tasks, path, owners, blobs, temporary, checkpoints]) await ensureFolder(disk, each);
  const own = [directory, tasks, path].map((each) => disk.fsyncDir(each));
  await Promise.all([...syncs.map((sync) => sync()), ...own]);
}

async function ensureFolder(disk: Disk, path: string): Promise<void> {
  if (await disk.mkdir(path)) return;
  // A link in place of a directory would leave the storage directory.
  if ((await disk.stat(path))?.folder !== true) throw new StorageError("permission", "mkdir", path);
}

/** Throws if a link replaced a directory, because it may leave the storage. Resolves to the missing directories. */
export async function assertNoLinks(disk: Disk, folders: readonly string[]): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const path of folders) {
    const found = await disk.stat(path);
    if (found?.folder === false) throw new StorageError("permission", "open", path);
    if (found === undefined) missing.push(path);
  }
  return missing;
}

/** Whether a file in `owners` or `tmp` belongs to an owner before this generation. */
export function isOfEarlierOwner(generation: number): (name: string) => boolean {
  return (name) => Number.parseInt(name, 10) < generation;
}

export async function removeFiles(
  disk: Disk,
  folder: string,
  fits: (name: string) => boolean = () => true,
): Promise<void> {
  const names = (await disk.readdir(folder)) ?? [];
  for (const name of names.filter(fits)) await disk.unlink(join(folder, name));
}

/**
 * Replaces a file atomically. A failure leaves no file. The next owner removes an interrupted write of this
 * `generation`. `durable` is false if power loss may undo the write.
 */
export async function replaceAtomically(
  disk: Disk,
  folder: AgentFolder,
  path: string,
  generation: number,
  bytes: Uint8Array,
  durable: boolean,
): Promise<void> {
  const temporary = join(folder.temporary, `${generation}-${randomUUID()}`);
  try {
    await writeNew(disk, temporary, bytes, durable);
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.unlink(temporary).catch(() => {});
    throw error;
  }
  if (durable) await disk.fsyncDir(dirname(path));
}

async function writeNew(disk: Disk, path: string, bytes: Uint8Array, durable: boolean): Promise<void> {
  const file = await disk.create(path);
  try {
    await file?.write(bytes);
    if (durable) await file?.fsync();
  } finally {
    await file?.close();
  }
}
