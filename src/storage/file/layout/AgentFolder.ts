import { StorageError } from "../../../errors/storage/StorageError.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";

const folderName = /^[a-z0-9][a-z0-9-]{0,23}-[0-9a-f]{40}$/;
/** The last number that the name of a segment can have. */
export const highestGeneration = 999_999_999_999_999;
const segmentName = /^([1-9][0-9]{0,14})\.jsonl$/;

/**
 * Where one agent's files are. The folder's name is made of the characters a-z, 0-9 and "-" only and ends with a hash of
 * the id: no id can leave the directory, meet another one or name something of the system, on any file system.
 */
export class AgentFolder {
  readonly path: string;
  readonly checkpoints: string;
  readonly blobs: string;
  readonly owners: string;
  readonly temporary: string;
  readonly state: string;

  /** @param tasks the folder that holds the folders of all agents. */
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

/** A readable beginning, for people who look into the folder, and 160 bits of SHA-256. */
export function agentFolderName(agentId: string, sha256: Sha256): string {
  const readable = agentId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 24);
  return `${readable === "" ? "id" : readable}-${sha256.hex(agentId).slice(0, 40)}`;
}

/** Whether {@link agentFolderName} may have made a name. */
export function isAgentFolderName(name: string): boolean {
  return folderName.test(name);
}

/** The generations of the segments among the names in a folder, highest first. */
export function segmentGenerations(names: readonly string[]): number[] {
  return names
    .flatMap((name) => segmentName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => b - a);
}

/**
 * Makes the folders of an agent, each on the device before anything is put into it. All of it is synced by everyone who
 * finds no segment yet, or a folder gone: another process may have made a folder a moment ago and not have synced it.
 */
export async function ensureAgentFolder(disk: Disk, folder: AgentFolder): Promise<void> {
  await ensureDirectory(disk, dirname(folder.tasks));
  await ensureFolder(disk, folder.tasks);
  await ensureFolder(disk, folder.path);
  for (const path of [folder.owners, folder.blobs, folder.temporary, folder.checkpoints]) await disk.mkdir(path);
  await disk.fsyncDir(folder.path);
}

/** The directory that the user named, with those above it. It may be a link, and what is above may not be ours to read. */
async function ensureDirectory(disk: Disk, path: string): Promise<void> {
  const found = await disk.stat(path);
  const parent = dirname(path);
  if (found === undefined && parent !== path) await ensureDirectory(disk, parent);
  if (found === undefined) await disk.mkdir(path);
  await disk.fsyncDir(parent).catch((error: unknown) => {
    if (found === undefined) throw error;
  });
}

async function ensureFolder(disk: Disk, path: string): Promise<void> {
  await disk.mkdir(path);
  // A link in the place of a folder would lead out of the directory.
  if ((await disk.stat(path))?.folder !== true) throw new StorageError("permission", "mkdir", path);
  await disk.fsyncDir(dirname(path));
}

/**
 * Refuses folders of an agent, and the folder of all agents, that were replaced by something else, since a link may lead out
 * of the directory. Looks once when agents are opened, read or listed. Resolves to the folders that are missing.
 */
export async function assertNoLinks(disk: Disk, folders: readonly string[]): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const path of folders) {
    const found = await disk.stat(path);
    if (found?.folder === false) throw new StorageError("permission", "open", path);
    if (found === undefined) missing.push(path);
  }
  return missing;
}

/**
 * Removes what earlier owners left behind: signs of life, requests to stop, and files they had not finished.
 *
 * @param dropped true when the agent was deleted: then its blobs go too, if a crash has left some.
 */
export async function removeLeftovers(
  disk: Disk,
  folder: AgentFolder,
  generation: number,
  dropped: boolean,
): Promise<void> {
  const isEarlier = (name: string) => Number.parseInt(name, 10) < generation;
  await removeFiles(disk, folder.owners, isEarlier);
  await removeFiles(disk, folder.temporary, isEarlier);
  if (dropped) await removeFiles(disk, folder.blobs);
}

/** Removes the files in a folder whose names fit; default: all. */
export async function removeFiles(
  disk: Disk,
  folder: string,
  fits: (name: string) => boolean = () => true,
): Promise<void> {
  const names = (await disk.readdir(folder)) ?? [];
  for (const name of names.filter(fits)) await disk.unlink(join(folder, name));
}

/**
 * Puts a whole file in the place of another, so that a reader sees the one or the other.
 *
 * @param generation of the owner for whom it is: the next one removes what was left behind half-way.
 * @param durable false for what may be lost in a power cut.
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
  const file = await disk.create(temporary);
  try {
    await file?.write(bytes);
    if (durable) await file?.fsync();
  } finally {
    await file?.close();
  }
  await disk.rename(temporary, path);
  if (durable) await disk.fsyncDir(dirname(path));
}
