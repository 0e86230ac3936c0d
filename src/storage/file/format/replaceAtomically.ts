import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import type { AgentFolder } from "./AgentFolder.ts";
import type { Disk } from "../../../node/Disk.ts";

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
