import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager } from "agent-persistence/task";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Target } from "../targets.ts";

/** The files that exist after a first read of a new storage. */
export async function emptyStores(directory: string): Promise<Target[]> {
  const folder = join(directory, "storage");
  mkdirSync(folder);
  const storage = new FilePersistenceStorageProvider({ directory: folder });
  for await (const _task of new TaskManager({ storage }).list()) throw new Error("The new storage has a task.");
  await storage.log.close();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = entries.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return [{ name: "files: bytes of a new storage before its first save", found: bytes, atMost: 0, unit: "" }];
}
