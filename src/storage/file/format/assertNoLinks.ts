import { StorageError } from "../../../errors/StorageError.ts";
import type { Disk } from "../../../node/Disk.ts";

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
