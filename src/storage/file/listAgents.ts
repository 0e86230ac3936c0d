import { mergeSorted } from "../../internal/mergeSorted.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type { AgentSummary, ListOptions } from "../RecordLog.ts";
import {
  compareText,
  selectSummaries,
  unreadable,
  compareSummaries,
  isAboutOneAgent,
  unreadableSummary,
} from "../summaries.ts";
import { dueFolder, dueKey, sortKey, statusFolder, type Mark, textOfKey, type FoundMark } from "./index/MarkFolder.ts";
import {
  assertNoLinks,
  isAgentFolderName,
  AgentFolder,
  agentFolderName,
  segmentGenerations,
} from "./layout/AgentFolder.ts";
import type { FileBackend } from "./owner/FileBackend.ts";
import type { Marked } from "./index/StatusIndex.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import { lineBreak, decodeControl } from "./layout/Segment.ts";
import type { StoredSummary } from "./layout/stateJson.ts";
import { LogReader } from "./read/LogReader.ts";
import { readState } from "./StateFile.ts";
import { join } from "node:path";

/** The number of agents to read concurrently, which limits the open files. */
const atOnce = 16;

/** If at most this many agents are due, a list reads all due agents, because their marks have another order. */
const mostDueRead = 256;

type Selection = Omit<ListOptions, "free" | "limit" | "readOnly">;

/** The initial and maximum number of agents to read at once. */
const [firstGroup, largestGroup] = [1, 16];

/**
 * Yields the summaries of agents in order. A usable index limits the reads to agents with a requested status. `isPage`
 * is whether a part of the matching agents is enough.
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
  const { dueBefore } = selection;
  const due = dueBefore === undefined ? [] : await dueMarks(backend, dueBefore, mostDueRead + 1);
  const readsAllDue = dueBefore !== undefined && due.length <= mostDueRead;
  const sorted = readsAllDue ? [] : await statusMarks(backend, selection, asked);
  // Marks of due times have another order, and unreadable agents are detected only when they are read.
  const isSorted = !readsAllDue && asked?.some(isUnreadable) !== true;
  const marks = readsAllDue ? due : dueBefore === undefined ? sorted : marksOfDue(backend, sorted, dueBefore);
  const seen = new Set<string>();
  for await (const group of inGroups(marks, isSorted ? firstGroup : Infinity, largestGroup))
    yield* selectSummaries(await readMarked(backend, group, seen), selection);
}

/** Returns the marks of agents that may be due, up to a number of marks. */
async function dueMarks({ index }: FileBackend, dueBefore: string, most: number): Promise<readonly PlacedMark[]> {
  const marks: PlacedMark[] = [];
  for await (const mark of index.marks(dueFolder, dueKey(dueBefore))) {
    marks.push({ ...mark, of: dueFolder });
    if (marks.length === most) break;
  }
  return marks;
}

/**
 * Yields the marks of agents that may be due. Yields the first marks unchecked, because the caller reads the agent of
 * each mark, and often needs only the first marks.
 */
async function* marksOfDue(
  backend: FileBackend,
  marks: AsyncIterable<PlacedMark> | Iterable<PlacedMark>,
  dueBefore: string,
): AsyncGenerator<PlacedMark> {
  let due: ReadonlySet<string> | undefined;
  let count = 0;
  for await (const mark of marks) {
    if (++count > mostDueRead)
      due ??= new Set((await dueMarks(backend, dueBefore, Infinity)).map(({ folder }) => folder));
    if (due?.has(mark.folder) !== false) yield mark;
  }
}

async function statusMarks(
  { index }: FileBackend,
  { after = "" }: Selection,
  asked: readonly string[] | undefined,
): Promise<AsyncIterable<PlacedMark>> {
  const folders = asked ? [...asked, unreadable].map(statusFolder) : await index.statusFolders();
  const marks = [...new Set(folders)].map((of) => placed(index.marks(of), of, sortKey(after)));
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

interface FoundAgents {
  readonly summaries: readonly AgentSummary[];
  readonly dropped: number;
}

/**
 * Reads all agents. If an index exists (`isReady`), skips agents that it lists as deleted, and adds missing agents to
 * it.
 */
async function readAll(backend: FileBackend, isReady: boolean): Promise<FoundAgents> {
  const marked = isReady ? await markedPositions(backend) : new Map<string, number>();
  const gone = isReady ? await backend.index.dropped() : new Set<string>();
  const names = ((await backend.disk.readdir(backend.tasks)) ?? []).filter(
    (name) => isAgentFolderName(name) && (marked.has(name) || !gone.has(name)),
  );
  const found = await inTurn(names, async (name) => {
    const agent = await readListed(backend, name, marked.get(name));
    if (isReady && !marked.has(name)) await mendListed(backend, name, agent).catch(() => {});
    return agent;
  });
  return {
    summaries: found.flatMap(({ summary }) => summary ?? []),
    dropped: found.filter(({ dropped }) => dropped).length,
  };
}

async function markedPositions({ index }: FileBackend): Promise<ReadonlyMap<string, number>> {
  const positions = new Map<string, number>();
  for (const of of await index.statusFolders())
    for await (const { folder, position } of index.marks(of))
      positions.set(folder, Math.max(position, positions.get(folder) ?? 0));
  return positions;
}

/** Repairs the index after an agent directory was copied here, or a crash interrupted a deletion before its mark. */
async function mendListed({ index }: FileBackend, name: string, { summary, dropped }: ListedSummary): Promise<void> {
  if (summary) await index.mark(name, { summary, generation: 0 });
  if (dropped) await index.markDropped(name);
}

interface PlacedMark extends FoundMark {
  readonly of: string;
}

/** Returns the summary of each marked agent once, and removes outdated marks. @param seen the agents listed already */
async function readMarked(
  backend: FileBackend,
  marks: readonly PlacedMark[],
  seen: Set<string>,
): Promise<readonly AgentSummary[]> {
  const found = await inTurn(marks, async (mark) => {
    if (seen.has(mark.folder)) return [];
    const agent = await readListed(backend, mark.folder, mark.position);
    await mendMarked(backend, mark, agent).catch(() => {});
    const { summary } = agent;
    // The summary belongs at another position of the list, where the agent has another mark.
    if (!summary || seen.has(mark.folder) || !hasKey(mark, summary)) return [];
    seen.add(mark.folder);
    return summary.status === unreadable ? unreadableAt(mark, summary) : summary;
  });
  return found.flat();
}

async function mendMarked({ index }: FileBackend, mark: PlacedMark, agent: ListedSummary): Promise<void> {
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

/** Whether the append that a mark announces is stored, or can no longer be stored. */
function isDecided({ position, generation }: Mark, { newest, summary, dropped }: ListedSummary): boolean {
  if (generation === 0 || dropped || newest === undefined || newest > generation) return true;
  return summary !== undefined && summary.position >= position;
}

/** Lists an unreadable agent at the position of its mark. */
function unreadableAt({ of, key }: PlacedMark, summary: AgentSummary): AgentSummary {
  return of === dueFolder || of === unreadable ? summary : { ...summary, order: textOfKey(key, summary.agentId) };
}

/**
 * Marks every stored agent in an index. The directory of the index already exists, so owners mark later changes
 * themselves. Marks agents in list order, so that each directory is filled before the next one is created.
 */
async function markAgents(backend: FileBackend): Promise<void> {
  const { index } = backend;
  const names = ((await backend.disk.readdir(backend.tasks)) ?? []).filter(isAgentFolderName);
  const found = await inTurn(names, (name) => namedMarks(backend, name));
  const marks = found.flat().sort((a, b) => compareSummaries(a.marked.summary, b.marked.summary));
  await inTurn(marks, ({ name, marked }) => index.mark(name, marked));
}

interface NamedMark {
  readonly name: string;
  readonly marked: Marked;
}

/** Returns both statuses of an agent whose status is changing. The owner may have found no index when it started. */
async function namedMarks(backend: FileBackend, name: string): Promise<readonly NamedMark[]> {
  const { summary, pending, dropped } = await readListed(backend, name);
  if (dropped && !pending) await backend.index.markDropped(name);
  const marks: readonly (Marked | undefined)[] = [summary && { summary, generation: 0 }, pending];
  return marks.flatMap((marked) => (marked ? [{ name, marked }] : []));
}

/**
 * Groups sorted items into groups of doubling size, so that a consumer of a few items reads only a few. Items with the
 * same key stay together. The size of the `first` group can be `Infinity`.
 */
async function* inGroups<Item extends { readonly key: string }>(
  items: AsyncIterable<Item> | Iterable<Item>,
  first: number,
  largest: number,
): AsyncGenerator<readonly Item[]> {
  let size = first;
  let group: Item[] = [];
  for await (const item of items) {
    if (group.length >= size && group.at(-1)?.key !== item.key) {
      yield group;
      group = [];
      size = Math.min(size * 2, largest);
    }
    group.push(item);
  }
  if (group.length > 0) yield group;
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  action: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(action))));
    // Small files are read without a pause.
    await nextTurn();
  }
  return results;
}

interface ListedSummary {
  /** `undefined` if the agent is not listed: it has no status, was deleted or does not exist. */
  readonly summary: AgentSummary | undefined;
  readonly newest?: number | undefined;
  readonly dropped?: boolean;
  /** The announced state of the next append. `undefined` if no change is announced. */
  readonly pending?: StoredSummary | undefined;
}

/**
 * Returns the summary of the agent in directory `name`: from `state.json` if the newest owner settled it at `atLeast`
 * or later, otherwise from the log. An unreadable agent is listed as unreadable.
 */
async function readListed(backend: FileBackend, name: string, atLeast = 0): Promise<ListedSummary> {
  try {
    return await listed(backend, name, atLeast);
  } catch (error) {
    if (!isAboutOneAgent(error)) throw error;
    const agentId = await agentIdOf(backend, name).catch(() => undefined);
    return { summary: unreadableSummary(agentId ?? name, error) };
  }
}

async function listed(backend: FileBackend, name: string, atLeast: number): Promise<ListedSummary> {
  const { disk, tasks, sha256 } = backend;
  const path = join(tasks, name);
  const checkpoints = join(path, "checkpoints");
  await assertNoLinks(disk, [path]);
  const [newest] = segmentGenerations((await disk.readdir(checkpoints)) ?? []);
  const state = await readState(backend, name);
  // The log is not read, so its directory needs no check for links.
  if (state && !state.changing && state.generation === newest && state.summary.position >= atLeast)
    return { summary: state.summary, newest };
  await assertNoLinks(disk, [checkpoints]);
  const agentId = state?.summary.agentId ?? (await agentIdOf(backend, name));
  if (agentId === undefined) return nameless(backend, name, newest);
  const found = await new LogReader(new AgentFolder(tasks, agentId, sha256), backend).lastSummary();
  return { ...found, newest, ...(state?.changing && { pending: state }) };
}

/** @throws CorruptLogError unless a first open was interrupted. */
async function nameless(backend: FileBackend, name: string, newest: number | undefined): Promise<ListedSummary> {
  const path = join(backend.tasks, name);
  if (newest === undefined && !(await holdsFiles(backend, path))) return { summary: undefined };
  throw new CorruptLogError(name, { file: path }, "the files of the directory do not contain the id of their agent");
}

async function agentIdOf(backend: FileBackend, name: string): Promise<string | undefined> {
  const { disk, sha256, tasks } = backend;
  const stated = (await readState(backend, name))?.summary.agentId;
  if (stated !== undefined) return stated;
  const checkpoints = join(tasks, name, "checkpoints");
  for (const generation of segmentGenerations((await disk.readdir(checkpoints)) ?? [])) {
    const bytes = await disk.readFile(join(checkpoints, `${generation}.jsonl`));
    // The owner may have replaced the segment since.
    if (bytes === undefined) return agentIdOf(backend, name);
    const claim = decodeControl("claim", bytes.subarray(0, Math.max(0, bytes.indexOf(lineBreak))), sha256);
    if (claim && agentFolderName(claim.agentId, sha256) === name) return claim.agentId;
  }
  return undefined;
}

/** Whether the directory contains an agent. An interrupted first open may leave an empty directory. */
async function holdsFiles({ disk }: FileBackend, path: string): Promise<boolean> {
  if ((await disk.stat(join(path, "state.json"))) !== undefined) return true;
  const names = await Promise.all(["owners", "blobs"].map((folder) => disk.readdir(join(path, folder))));
  return names.some((found) => (found?.length ?? 0) > 0);
}
