import type { AgentSummary } from "../../RecordLog.ts";
import { unreadable } from "../../unreadableSummary.ts";
import { dueFolder, dueKey, type Mark, sortKey, statusFolder, textOfKey } from "../index/Mark.ts";
import type { FoundMark } from "../index/MarkFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inTurn } from "./inTurn.ts";
import { type ListedAgent, readListed } from "./readListed.ts";

export interface PlacedMark extends FoundMark {
  readonly of: string;
}

/**
 * Returns the summary of each marked agent once, according to its files. Removes outdated marks.
 *
 * @param seen - the agents that the list already contains.
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
    // An agent with another order is found at its other mark.
    if (!summary || seen.has(mark.folder) || !hasKey(mark, summary)) return [];
    seen.add(mark.folder);
    return summary.status === unreadable ? unreadableAt(mark, summary) : summary;
  });
  return found.flat();
}

async function mend({ index }: FileBackend, mark: PlacedMark, agent: ListedAgent): Promise<void> {
  const { summary } = agent;
  if (summary && (summary.status === unreadable || isMarkOf(mark, summary))) return;
  // The agent was unreadable when the index was built.
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

/** Whether the append of a mark is stored or can no longer be stored. */
function isDecided({ position, generation }: Mark, { newest, summary, dropped }: ListedAgent): boolean {
  if (generation === 0 || dropped || newest === undefined || newest > generation) return true;
  return summary !== undefined && summary.position >= position;
}

/** Keeps the list position of the mark for an unreadable agent. */
function unreadableAt({ of, key }: PlacedMark, summary: AgentSummary): AgentSummary {
  return of === dueFolder || of === unreadable ? summary : { ...summary, order: textOfKey(key, summary.agentId) };
}
