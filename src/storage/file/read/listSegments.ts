import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import { CorruptLogError } from "../../../errors/storedDataErrors.ts";
import { type AgentFolder, assertNoLinks, highestGeneration, segmentGenerations } from "../layout/AgentFolder.ts";
import { decodeState, type StoredSummary } from "../layout/stateJson.ts";
import type { FileBackend } from "../owner/FileBackend.ts";

type Backend = Pick<FileBackend, "disk" | "sha256">;

export interface ListedSegments extends Others {
  /** Highest first. Empty for an unknown agent. */
  readonly generations: readonly number[];
  /** The end of the log in `state.json`. */
  readonly known?: ChainLink | undefined;
}

/** Other files that prove which segments exist. */
interface Others {
  /** The content of `state.json`. `undefined` if it is missing, damaged or of another agent. */
  readonly state?: StoredSummary | undefined;
  /** The names of the files in `owners`. */
  readonly owners: readonly string[];
}

/**
 * Lists the segments of an agent and detects missing segments. Without this check, a missing segment would reset the
 * agent to an older state. Two rules make the check possible. All other files of an agent are created only when the
 * segment of their generation is durable. A segment is removed only when a higher segment exists.
 *
 * @param ignoresBlobs - whether blobs are no proof of a segment, because a salvage stores them before its segment.
 * @throws CorruptLogError if segments are missing that other files refer to.
 */
export async function listSegments(
  backend: Backend,
  folder: AgentFolder,
  ignoresBlobs = false,
): Promise<ListedSegments> {
  const { disk } = backend;
  if ((await assertNoLinks(disk, [folder.tasks, folder.path])).length > 0) return { generations: [], owners: [] };
  await assertNoLinks(disk, [folder.checkpoints]);
  const list = async () => segmentGenerations((await disk.readdir(folder.checkpoints)) ?? []);
  const generations = await list();
  const [last = 0] = generations;
  if (last >= highestGeneration)
    throw new CorruptLogError(folder.agentId, { file: folder.segment(last) }, "no generation can follow it");
  const { highest, ...others } = await readOthers(backend, folder, generations.length === 0 && !ignoresBlobs);
  const known = others.state?.end;
  if (highest <= last) return { generations, known, ...others };
  // A new owner may have published a segment since.
  const again = await list();
  if (highest <= (again[0] ?? 0)) return { generations: again, known, ...others };
  const found = "the segment is missing, but other files of the agent refer to it";
  throw new CorruptLogError(folder.agentId, { file: folder.segment(highest) }, found);
}

/** @returns also the highest generation that the files name. */
async function readOthers(
  { disk, sha256 }: Backend,
  folder: AgentFolder,
  withBlobs: boolean,
): Promise<Others & { readonly highest: number }> {
  const bytes = await disk.readFile(folder.state);
  const read = bytes && decodeState(bytes.toString(), sha256);
  const state = read?.summary.agentId === folder.agentId ? read : undefined;
  const owners = (await disk.readdir(folder.owners)) ?? [];
  const blobs = withBlobs ? ((await disk.readdir(folder.blobs)) ?? []) : [];
  // Blobs and a damaged file only prove that the agent existed.
  const stated = state?.generation ?? Number(bytes !== undefined || blobs.length > 0);
  const named = owners.map((name) => Number.parseInt(name, 10)).filter((generation) => generation > 0);
  return { state, owners, highest: Math.max(stated, ...named) };
}
