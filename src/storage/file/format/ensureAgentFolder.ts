import { StorageError } from "../../../errors/storage/StorageError.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { AgentFolder } from "./AgentFolder.ts";
import { dirname } from "node:path";

/**
 * Makes the folders of an agent, each on the device before anything is put into it. All of it is synced by everyone who
 * finds no segment yet, or a folder gone: another process may have made a folder a moment ago and not have synced it.
 */
export async function ensureAgentFolder(disk: Disk, folder: AgentFolder): Promise<void> {
  const tasks = dirname(folder.path);
  await ensureDirectory(disk, dirname(tasks));
  await ensureFolder(disk, tasks);
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
 * Refuses folders of an agent in whose place somebody put something else: what is behind a link is not ours to read or to
 * write. One look when the agent is opened or read. Resolves to those that are missing.
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
