import { join } from "node:path";
import { parseBlobReference } from "../../../internal/blobReference.ts";
import type { AgentFolder } from "../format/AgentFolder.ts";
import type { Disk } from "../../../node/Disk.ts";

const scheme = "blob://";
const references = /blob:\/\/[0-9a-f]{64}-[0-9]+(?:\.gz)?/g;

/**
 * Removes blobs that owners before this one put and that no line names: a crash came before the line. Blobs of this owner
 * are left alone, since it may be about to write their line; those of earlier ones nobody will ever name.
 *
 * @param lines all lines of the log.
 */
export async function sweepBlobs(
  disk: Disk,
  folder: AgentFolder,
  lines: readonly Buffer[],
  generation: number,
): Promise<void> {
  const names = (await disk.readdir(folder.blobs)) ?? [];
  const earlier = names.filter((name) => (parseBlobReference(scheme + name)?.generation ?? generation) < generation);
  if (earlier.length === 0) return;
  const named = new Set(lines.flatMap((line) => line.toString("latin1").match(references) ?? []));
  for (const name of earlier) if (!named.has(scheme + name)) await disk.unlink(join(folder.blobs, name));
}
