import type { AgentSummary } from "../../RecordLog.ts";
import { unreadable } from "../../unreadableSummary.ts";
import { dueFolder, dueKey, type Mark, sortKey, statusFolder, textOfKey } from "../index/Mark.ts";
import type { FoundMark } from "../index/MarkFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inTurn } from "./inTurn.ts";
import { type ListedAgent, readListed } from "./readListed.ts";

/** A mark, and the folder of the index that has it. */
export interface PlacedMark extends FoundMark {
  readonly of: string;
}

/**
 * The summaries of marked agents, as their own files have them, each once. Marks that nobody can mean any more are removed.
 *
 * @param seen the agents whose summaries a list has already.
 */
export async function readMarked(
  backend: FileBackend,
  marks: readonly PlacedMark[],
  seen: Set<string>,
): Promise<readonly AgentSummary[]> {
  const found = await inTurn(marks, async (mark) => {
    if (seen.has(mark.folder)) return [];
    const agent = await readListed(backend, mark.folder, mark.position);
    await mend(backend, mark, agent).catch(() => {});
    const { summary } = agent;
    // An agent with another order has a mark in its place.
    if (!summary || seen.has(mark.folder) || !hasKey(mark, summary)) return [];
    seen.add(mark.folder);
    return summary.status === unreadable ? unreadableAt(mark, summary) : summary;
  });
  return found.flat();
}

async function mend({ index }: FileBackend, mark: PlacedMark, agent: ListedAgent): Promise<void> {
  const { summary } = agent;
  if (summary && (summary.status === unreadable || isMarkOf(mark, summary))) return;
  // When the index was built the agent could not be read.
  if (summary && mark.of === unreadable) await index.mark(mark.folder, { summary, generation: 0 });
  if (isDecided(mark, agent)) await index.forget(mark);
}

function isMarkOf(mark: PlacedMark, summary: AgentSummary): boolean {
  return hasKey(mark, summary) && (mark.of === dueFolder || mark.of === statusFolder(summary.status));
}

function hasKey({ of, key }: PlacedMark, { order, dueAt, status }: AgentSummary): boolean {
  if (status === unreadable || of === unreadable) return true;
  return of === dueFolder ? dueAt !== undefined && key === dueKey(dueAt) : key === sortKey(order);
}

/** Whether the append that a mark was made for is stored by now, or never will be. */
function isDecided({ position, generation }: Mark, { newest, summary, dropped }: ListedAgent): boolean {
  if (generation === 0 || dropped || newest === undefined || newest > generation) return true;
  return summary !== undefined && summary.position >= position;
}

/** What cannot be read keeps the place in the list that its mark has. */
function unreadableAt({ of, key }: PlacedMark, summary: AgentSummary): AgentSummary {
  return of === dueFolder || of === unreadable ? summary : { ...summary, order: textOfKey(key, summary.agentId) };
}
