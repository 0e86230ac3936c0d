import { join } from "node:path";
import type { AgentFolder } from "./AgentFolder.ts";
import type { Disk } from "../../../node/Disk.ts";

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
