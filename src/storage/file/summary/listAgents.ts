import { mergeSorted } from "../../../internal/mergeSorted.ts";
import type { AgentSummary, ListOptions } from "../../RecordLog.ts";
import { compareText, selectSummaries } from "../../selectSummaries.ts";
import { unreadable } from "../../unreadableSummary.ts";
import { dueFolder, dueKey, sortKey, statusFolder } from "../index/Mark.ts";
import { assertNoLinks } from "../layout/AgentFolder.ts";
import type { FileBackend } from "../owner/FileBackend.ts";
import { inGroups } from "./inGroups.ts";
import { markAgents } from "./markAgents.ts";
import { type PlacedMark, readMarked } from "./readMarked.ts";
import { readAll } from "./readAll.ts";

/** What a list selects by before it looks at owners. */
type Selection = Omit<ListOptions, "free" | "limit" | "readOnly">;

/** How many agents are read at once, at first and at most. */
const [firstGroup, largestGroup] = [1, 16];

/**
 * The summaries of agents in their order: of those alone that the index has in the statuses asked for, read as they are
 * needed. All agents are read where all are asked for, and where the index cannot be used.
 *
 * @param isPage whether a part of the agents that fit is enough.
 */
export async function* listAgents(
  backend: FileBackend,
  selection: Selection,
  isPage: boolean,
): AsyncGenerator<AgentSummary> {
  const asked = typeof selection.status === "string" ? [selection.status] : selection.status;
  if (asked?.length === 0 || (await assertNoLinks(backend.disk, [backend.tasks])).length > 0) return;
  const isPart = asked === undefined ? isPage || selection.dueBefore !== undefined : !asked.every(isUnreadable);
  if (isPart && (await makeIndex(backend))) yield* listMarked(backend, selection, asked);
  else yield* selectSummaries(await listAll(backend), selection);
}

function makeIndex(backend: FileBackend): Promise<boolean> {
  return backend.index.ready(() => markAgents(backend));
}

/** All agents, for which no index is made: it spares nothing but the reading of deleted agents. */
async function listAll(backend: FileBackend): Promise<readonly AgentSummary[]> {
  const isReady = await backend.index.isComplete();
  const { summaries, dropped } = await readAll(backend, isReady);
  if (!isReady && dropped > 0) await makeIndex(backend);
  return summaries;
}

async function* listMarked(
  backend: FileBackend,
  selection: Selection,
  asked: readonly string[] | undefined,
): AsyncGenerator<AgentSummary> {
  // What falls due is marked in another order, and what cannot be read shows only when it is read.
  const isSorted = selection.dueBefore === undefined && asked?.some(isUnreadable) !== true;
  const groupSize = isSorted ? firstGroup : Infinity;
  const seen = new Set<string>();
  for await (const group of inGroups(await marksOf(backend, selection, asked), groupSize, largestGroup))
    yield* selectSummaries(await readMarked(backend, group, seen), selection);
}

/** The marks of agents that may fit, by their keys. */
async function marksOf(
  { index }: FileBackend,
  { dueBefore, after = "" }: Selection,
  asked: readonly string[] | undefined,
): Promise<AsyncIterable<PlacedMark>> {
  const marksIn = (of: string, from: string, upTo?: string) => placed(index.marks(of, upTo), of, from);
  if (dueBefore !== undefined) return marksIn(dueFolder, "", dueKey(dueBefore));
  const folders = asked ? [...asked, unreadable].map(statusFolder) : await index.statusFolders();
  const marks = [...new Set(folders)].map((of) => marksIn(of, sortKey(after)));
  return mergeSorted(marks, (a, b) => compareText(a.key, b.key));
}

async function* placed(
  marks: AsyncIterable<Omit<PlacedMark, "of">>,
  of: string,
  from: string,
): AsyncGenerator<PlacedMark> {
  // A key that was cut is the beginning of all that it may stand for.
  for await (const mark of marks) if (mark.key >= from || from.startsWith(mark.key)) yield { ...mark, of };
}

function isUnreadable(status: string): boolean {
  return status === unreadable;
}
