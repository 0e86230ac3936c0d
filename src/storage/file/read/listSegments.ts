import { CorruptLogError } from "../../../errors/storage/CorruptLogError.ts";
import { type AgentFolder, assertNoLinks, segmentGenerations } from "../format/AgentFolder.ts";
import type { FileBackend } from "../backend/FileBackend.ts";
import { decodeState } from "../format/stateJson.ts";

/**
 * The generations of an agent's segments, highest first; none for an agent never seen. What was removed from their end is
 * found, since the agent would silently be younger, or new: every other file of an agent is put there after the segment of
 * its generation has its name on the device, and a segment is removed only when a higher one has.
 *
 * @throws CorruptLogError when segments are gone that other files speak of.
 */
export async function listSegments(
  backend: Pick<FileBackend, "disk" | "sha256">,
  folder: AgentFolder,
): Promise<readonly number[]> {
  const { disk } = backend;
  await assertNoLinks(disk, [folder.path, folder.checkpoints]);
  const list = async () => segmentGenerations((await disk.readdir(folder.checkpoints)) ?? []);
  const listed = await list();
  const known = await knownGeneration(backend, folder, listed.length === 0);
  if (known <= (listed[0] ?? 0)) return listed;
  // An owner may have come meanwhile.
  const again = await list();
  if (known <= (again[0] ?? 0)) return again;
  const found = `it is missing, and no newer segment is there, while other files of the agent speak of it`;
  throw new CorruptLogError(folder.agentId, { file: folder.segment(known) }, found);
}

/** The highest generation that other files speak of; 0 when there are none. */
async function knownGeneration(
  { disk, sha256 }: Pick<FileBackend, "disk" | "sha256">,
  folder: AgentFolder,
  withBlobs: boolean,
): Promise<number> {
  const bytes = await disk.readFile(folder.state);
  const stated = bytes === undefined ? 0 : (decodeState(bytes.toString(), sha256)?.generation ?? 1);
  const owners = (await disk.readdir(folder.owners)) ?? [];
  const blobs = withBlobs ? ((await disk.readdir(folder.blobs)) ?? []) : [];
  const named = owners.map((name) => Number.parseInt(name, 10)).filter((generation) => generation > 0);
  return Math.max(stated, ...named, blobs.length > 0 ? 1 : 0);
}
