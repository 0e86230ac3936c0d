import {
  hasOneLine,
  type LineStates,
  lineReferences,
  openLineStates,
  unreachedLine,
} from "../checkpoint/data/openLines.ts";
import { isMerged } from "../checkpoint/records/isMerged.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import { addValueReferences } from "../checkpoint/records/blobReferences.ts";
import type { AgentState } from "../checkpoint/state/AgentState.ts";
import { foldTo, recordByValue } from "../checkpoint/state/foldTo.ts";
import { leanState } from "../checkpoint/state/leanState.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { stateReferences } from "../checkpoint/state/stateReferences.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import { UnreadableValueError } from "../errors/storage/UnreadableValueError.ts";
import { AgentLog } from "./AgentLog.ts";
import { fetchBlobs } from "./fetchBlobs.ts";
import { type CachedHead, type HeadCache, headCacheOf } from "./HeadCache.ts";
import { type KnownHead, readEntries, readEntriesAfter } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import { SnapshotDue } from "./SnapshotDue.ts";

/** What of a log its head needs. Dispose it when nothing refers to its log any more: the next reader goes on from there. */
export interface AgentHead extends Disposable {
  readonly log: AgentLog;
  /** The state of the main line; `undefined` for an agent without records. */
  readonly state: AgentState | undefined;
  /**
   * The states of the open nested lines that have not ended, by lane: each after the line that it is nested in. They are
   * computed when they are asked for.
   */
  readonly lines: LineStates;
  readonly snapshotDue: SnapshotDue;
}

/**
 * Reads what the head needs, and no blob besides. Of an agent that was read lately in this process only what was appended
 * since; of any other from the newest snapshot where that is enough, else everything.
 *
 * @param options.keeps whether the next reader goes on from there. `false` where many agents are read once. Default: true.
 */
export async function readHead(
  log: RecordLog,
  agentId: string,
  { keeps = true }: { readonly keeps?: boolean } = {},
): Promise<AgentHead> {
  const cache = keeps ? headCacheOf(log) : undefined;
  const known = cache?.take(agentId);
  const head = (known && (await readAfter(log, agentId, known))) ?? (await readAsNew(log, agentId, known));
  if (!head) return headOf(agentId, { index: new LogProjection(), ...emptyParts() });
  if (!hasOneLine(head.index)) {
    const grown = { ...head, grows: true } as const;
    return headOf(agentId, grown, () => cache?.set(agentId, grown));
  }
  if (head !== known) remember(cache, agentId, head, known?.grows ? undefined : known);
  return headOf(agentId, head);
}

/** What a run of one line continues from is little: what it no longer needs is forgotten. */
function remember(
  cache: HeadCache | undefined,
  agentId: string,
  { index, state: whole, end, ...parts }: CachedHead,
  before: CachedHead | undefined,
): void {
  const known = index.base?.state === before?.state ? before?.state : undefined;
  const state = leanState(whole, known);
  cache?.set(agentId, { ...parts, index: index.continued(state), state, end });
}

type ReadParts = Pick<CachedHead, "blobs" | "values" | "snapshotDue">;

function emptyParts(): ReadParts {
  return { blobs: new Map(), values: new WeakMap(), snapshotDue: new SnapshotDue() };
}

function headOf(
  agentId: string,
  head: ReadParts & Pick<CachedHead, "index"> & Partial<Pick<CachedHead, "state">>,
  giveBack: () => void = () => {},
): AgentHead {
  const { index, blobs, values, snapshotDue, state } = head;
  let lines: LineStates | undefined;
  return {
    log: new AgentLog(agentId, index, blobs, { values }),
    state,
    get lines() {
      return (lines ??= openLineStates(index));
    },
    snapshotDue,
    [Symbol.dispose]: giveBack,
  };
}

/** `undefined`: read it as if nothing was known. The known head when nothing was appended. */
async function readAfter(log: RecordLog, agentId: string, known: CachedHead): Promise<CachedHead | undefined> {
  const appended: AgentRecord[] = [];
  const read = await readEntriesAfter(log, agentId, known, (record) => appended.push(record));
  if (!read?.end) return undefined;
  const { index, end } = read;
  if (end === known.end) return known;
  if (index !== known.index) return headIn(log, agentId, { index, end }, known);
  // A line that went back may need what its later states did not.
  if (appended.some(beginsAnew) || needsWhole(index)) return undefined;
  const state = appended.some((record) => changes(known.state, record)) ? foldTo(index) : known.state;
  if (!state) return undefined;
  const references = new Map<string, BlobCell>();
  for (const record of appended) addValueReferences(record, references);
  return { ...known, state, end, ...(await partsOf(log, agentId, references, known)) };
}

function beginsAnew(record: AgentRecord): boolean {
  return record.kind === "lane" && (record.from !== undefined || record.place === undefined);
}

/** Whether a record adds to the state of the main line. */
function changes({ lane }: AgentState, record: AgentRecord): boolean {
  return record.kind === "run" || ("lane" in record && record.lane === lane);
}

/** `undefined` for an agent without records. @param known what was read of it before, which may be of use */
async function readAsNew(log: RecordLog, agentId: string, known?: CachedHead): Promise<CachedHead | undefined> {
  const { index, end } = await readEntries(log, agentId, { sinceSnapshot: true });
  if (!end) return undefined;
  const head = await headIn(log, agentId, { index, end }, known);
  return head ?? headInWhole(log, agentId, known);
}

/** @throws UnreadableValueError when the log does not contain all of an open line. */
async function headInWhole(
  log: RecordLog,
  agentId: string,
  known: CachedHead | undefined,
): Promise<CachedHead | undefined> {
  const { index, end } = await readEntries(log, agentId, {});
  const lane = unreachedLine(index);
  if (lane !== undefined) throw new UnreadableValueError(`what leads to lane ${lane} is not in the log`);
  const state = foldTo(index);
  return state && end && withParts(log, agentId, { index, state, end }, known);
}

/** `undefined` when an open line begins before what was read, or a message of a line is there. */
async function headIn(
  log: RecordLog,
  agentId: string,
  { index, end }: Pick<KnownHead, "index" | "end">,
  known: CachedHead | undefined,
): Promise<CachedHead | undefined> {
  const state = unreachedLine(index) === undefined && !needsWhole(index) ? foldTo(index) : undefined;
  return state && withParts(log, agentId, { index, state, end }, known);
}

/** Whether a message of a joined branch, or what a redo left, is not within what was read. */
function needsWhole(index: LogProjection): boolean {
  return index.needsWhole || index.merged.some((ordered) => isMerged(recordByValue(index, ordered)));
}

async function withParts(
  log: RecordLog,
  agentId: string,
  { index, state, end }: KnownHead,
  known: CachedHead | undefined,
): Promise<CachedHead> {
  const before = index.base?.state === known?.state ? known : undefined;
  const parts = await partsOf(log, agentId, referencesOf(index, state, before), before);
  return { index, state, end, ...parts, snapshotDue: known?.snapshotDue ?? new SnapshotDue() };
}

/** The blobs that the open lines need. @param before a state of which the messages are read already */
function referencesOf(index: LogProjection, state: AgentState, before: CachedHead | undefined): BlobCells {
  // Without blobs, no line has to be folded to know that it needs none.
  if (index.valueBlobs.size === 0) return new Map();
  return new Map([...stateReferences(state, before?.state), ...lineReferences(index, openLineStates(index))]);
}

/** Blobs, as texts or as values; of those that were read before, none is read again. */
async function partsOf(
  log: RecordLog,
  agentId: string,
  references: BlobCells,
  before: CachedHead | undefined,
): Promise<Pick<CachedHead, "blobs" | "values" | "lacksBlobs">> {
  const { blobs: known, values } = before ?? emptyParts();
  const missing = new Map([...references].filter(([reference]) => !known.has(reference)));
  if (missing.size === 0) return { blobs: known, values };
  const fetched = await fetchBlobs(log, agentId, missing);
  const lacksBlobs = [...missing.keys()].some((reference) => typeof fetched.get(reference) !== "string");
  return { blobs: new Map([...known, ...fetched]), values, lacksBlobs };
}
