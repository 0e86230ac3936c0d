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

type Selection = Omit<ListOptions, "free" | "limit" | "readOnly">;

/** The initial and maximum number of agents to read at once. */
const [firstGroup, largestGroup] = [1, 16];

/**
 * Yields the summaries of agents in order. With a usable index, lazily reads only agents with a requested status. Reads
 * all agents if all are requested or the index cannot be used.
 *
 * @param isPage - whether a part of the matching agents is enough.
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

/** Reads all agents. Does not build an index, which would only avoid reading deleted agents. */
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
  // Marks of due times have another order, and unreadable agents are detected only when they are read.
  const isSorted = selection.dueBefore === undefined && asked?.some(isUnreadable) !== true;
  const groupSize = isSorted ? firstGroup : Infinity;
  const seen = new Set<string>();
  for await (const group of inGroups(await marksOf(backend, selection, asked), groupSize, largestGroup))
    yield* selectSummaries(await readMarked(backend, group, seen), selection);
}

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
  // A truncated key is a prefix of every key that it represents.
  for await (const mark of marks) if (mark.key >= from || from.startsWith(mark.key)) yield { ...mark, of };
}

function isUnreadable(status: string): boolean {
  return status === unreadable;
}
