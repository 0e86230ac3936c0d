import { join } from "node:path";
import type { AgentFolder } from "./AgentFolder.ts";
import type { Disk } from "./Disk.ts";

/** Removes what earlier owners left behind: signs of life, requests to stop, and files they had not finished. */
export async function removeLeftovers(disk: Disk, folder: AgentFolder, generation: number): Promise<void> {
  for (const path of [folder.owners, folder.temporary]) {
    const names = (await disk.readdir(path)) ?? [];
    const earlier = names.filter((name) => Number.parseInt(name, 10) < generation);
    for (const name of earlier) await disk.unlink(join(path, name));
  }
}
