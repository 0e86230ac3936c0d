import { compareSummaries } from "../../selectSummaries.ts";
import type { Marked } from "../index/AgentIndex.ts";
import { isAgentFolderName } from "../layout/AgentFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inTurn } from "./inTurn.ts";
import { readListed } from "./readListed.ts";

/**
 * Marks every stored agent in an index whose directory already exists, so owners mark later changes themselves. Marks
 * agents in list order, so that each directory is filled before the next one is created.
 */
export async function markAgents(backend: FileBackend): Promise<void> {
  const { index } = backend;
  const names = ((await backend.disk.readdir(backend.tasks)) ?? []).filter(isAgentFolderName);
  const found = await inTurn(names, (name) => marksOf(backend, name));
  const marks = found.flat().sort((a, b) => compareSummaries(a.marked.summary, b.marked.summary));
  await inTurn(marks, ({ name, marked }) => index.mark(name, marked));
}

interface NamedMark {
  readonly name: string;
  readonly marked: Marked;
}

/**
 * Returns both statuses of an agent whose status is changing, because its owner may have checked for the index before
 * it existed.
 */
async function marksOf(backend: FileBackend, name: string): Promise<readonly NamedMark[]> {
  const { summary, pending, dropped } = await readListed(backend, name);
  if (dropped && !pending) await backend.index.markDropped(name);
  const marks: readonly (Marked | undefined)[] = [summary && { summary, generation: 0 }, pending];
  return marks.flatMap((marked) => (marked ? [{ name, marked }] : []));
}
