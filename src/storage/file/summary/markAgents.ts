import { compareSummaries } from "../../selectSummaries.ts";
import type { Marked } from "../index/AgentIndex.ts";
import { isAgentFolderName } from "../layout/AgentFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inTurn } from "./inTurn.ts";
import { readListed } from "./readListed.ts";

/**
 * Marks every stored agent in an index whose folder is there already: owners mark what they change from now on. In the
 * order of a list, so that each folder of marks is filled before the next one begins.
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

/** Of an agent whose status is about to change, both statuses: its owner may have looked for the index before it was there. */
async function marksOf(backend: FileBackend, name: string): Promise<readonly NamedMark[]> {
  const { summary, pending, dropped } = await readListed(backend, name);
  if (dropped && !pending) await backend.index.markDropped(name);
  const marks: readonly (Marked | undefined)[] = [summary && { summary, generation: 0 }, pending];
  return marks.flatMap((marked) => (marked ? [{ name, marked }] : []));
}
