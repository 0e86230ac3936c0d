import {
  hasOneLine,
  type LineStates,
  lineReferences,
  openLineStates,
  unreachedLine,
} from "../checkpoint/data/openLines.ts";
import { isMerged, type AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import { addValueReferences } from "../checkpoint/records/blobReferences.ts";
import type { AgentState } from "../checkpoint/state/AgentState.ts";
import { foldTo, recordByValue } from "../checkpoint/state/foldTo.ts";
import { leanState, stateReferences } from "../checkpoint/state/leanState.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import { UnreadableValueError } from "../errors/storedDataErrors.ts";
import { AgentLog } from "./AgentLog.ts";
import { fetchBlobs } from "./blobs.ts";
import { type KnownHead, readEntries, readEntriesAfter } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import { SnapshotDue } from "./SnapshotDue.ts";
import type { BlobTexts, DecodedValues } from "../checkpoint/state/ValueReader.ts";

/** The part of a log that the head needs. Dispose it after its last use, for the next reader. */
export interface AgentHead extends Disposable {
  readonly log: AgentLog;
  /** The state of the main line. `undefined` for an agent without records. */
  readonly state: AgentState | undefined;
  /** The states of the open nested lines by lane. A parent line precedes its nested lines. Computed on access. */
  readonly lines: LineStates;
  readonly snapshotDue: SnapshotDue;
}

/**
 * Reads the head of an agent with the required blobs: only new entries of a recently read agent, otherwise from the
 * newest snapshot or, if that is not enough, the whole log.
 *
 * @param options.keeps - `false` keeps no head for the next reader.
 */
export async function readHead(
  log: RecordLog,
  agentId: string,
  { keeps = true }: { readonly keeps?: boolean } = {},
): Promise<AgentHead> {
  const cache = keeps ? headCacheOf(log) : undefined;
  const known = cache?.take(agentId);
  const head = (known && (await readAfter(log, agentId, known))) ?? (await readAsNew(log, agentId, known));
  if (!head) return emptyHead(agentId);
  if (!hasOneLine(head.index)) {
    const grown = { ...head, grows: true } as const;
    return headOf(agentId, grown, () => cache?.set(agentId, grown));
  }
  if (head !== known) remember(cache, agentId, head, known?.grows ? undefined : known);
  return headOf(agentId, head);
}

/** Caches only the small part that the run of a single line continues from. */
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

/** Returns the head of an agent without records. */
export function emptyHead(agentId: string): AgentHead {
  return headOf(agentId, { index: new LogProjection(), ...emptyParts() });
}

/** Returns the known head if the log has no new entries. `undefined` if the log must be read again. */
async function readAfter(log: RecordLog, agentId: string, known: CachedHead): Promise<CachedHead | undefined> {
  const appended: AgentRecord[] = [];
  const read = await readEntriesAfter(log, agentId, known, (record) => appended.push(record));
  if (!read?.end) return undefined;
  const { index, end } = read;
  if (end === known.end) return known;
  if (index !== known.index) return headIn(log, agentId, { index, end }, known);
  // After a rollback, the state may need values that the later states did not need.
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

function changes({ lane }: AgentState, record: AgentRecord): boolean {
  return record.kind === "run" || ("lane" in record && record.lane === lane);
}

/** Returns `undefined` for an agent without records. @param known - an earlier head whose values may be reused. */
async function readAsNew(log: RecordLog, agentId: string, known?: CachedHead): Promise<CachedHead | undefined> {
  const { index, end } = await readEntries(log, agentId, { sinceSnapshot: true });
  if (!end) return undefined;
  const head = await headIn(log, agentId, { index, end }, known);
  return head ?? headInWhole(log, agentId, known);
}

/** @throws UnreadableValueError if the log lacks a part of an open line. */
async function headInWhole(
  log: RecordLog,
  agentId: string,
  known: CachedHead | undefined,
): Promise<CachedHead | undefined> {
  const { index, end } = await readEntries(log, agentId, {});
  const lane = unreachedLine(index);
  if (lane !== undefined) throw new UnreadableValueError(`the log lacks the records before lane ${lane}`);
  const state = foldTo(index);
  return state && end && withParts(log, agentId, { index, state, end }, known);
}

/** Returns `undefined` if an open line, or a message of a line, starts before the read entries. */
async function headIn(
  log: RecordLog,
  agentId: string,
  { index, end }: Pick<KnownHead, "index" | "end">,
  known: CachedHead | undefined,
): Promise<CachedHead | undefined> {
  const state = unreachedLine(index) === undefined && !needsWhole(index) ? foldTo(index) : undefined;
  return state && withParts(log, agentId, { index, state, end }, known);
}

/** Whether the head needs earlier records: messages of a joined branch, or records that a redo abandoned. */
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

function referencesOf(index: LogProjection, state: AgentState, before: CachedHead | undefined): BlobCells {
  // The log has no blobs, so the states need not be searched for references.
  if (index.valueBlobs.size === 0) return new Map();
  return new Map([...stateReferences(state, before?.state), ...lineReferences(index, openLineStates(index))]);
}

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

interface CachedHead extends KnownHead {
  readonly blobs: BlobTexts;
  readonly values: DecodedValues;
  readonly snapshotDue: SnapshotDue;
  /** Whether a required blob was missing or damaged. The next read may find the blob. */
  readonly lacksBlobs?: boolean | undefined;
}

const mostBytes = 64 * 1024 * 1024;

/** Caches the most recently read heads. The caller checks that the log still contains the cached end. */
class HeadCache {
  readonly #heads = new Map<string, CachedHead & { readonly bytes: number }>();
  #bytes = 0;

  /** Returns a head. A head with nested lines has one reader, so it is removed until the reader calls {@link set}. */
  take(agentId: string): CachedHead | undefined {
    const head = this.#heads.get(agentId);
    if (head?.grows) this.#forget(agentId);
    return head;
  }

  /** Ignores a head that lacks blobs, so a complete older head of the same log stays cached. */
  set(agentId: string, head: CachedHead): void {
    if (head.lacksBlobs) return;
    this.#forget(agentId);
    const bytes = bytesOf(head);
    this.#heads.set(agentId, { ...head, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#heads.keys()) {
      if (this.#bytes <= mostBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(agentId: string): void {
    this.#bytes -= this.#heads.get(agentId)?.bytes ?? 0;
    this.#heads.delete(agentId);
  }
}

function bytesOf({ index, blobs }: CachedHead): number {
  // Even a head with little data takes about 10 kB.
  let bytes = index.bytes + 5_000;
  for (const text of blobs.values()) bytes += String(text).length;
  // A decoded value takes about as much memory as its text.
  return 2 * bytes;
}

const caches = new WeakMap<RecordLog, HeadCache>();

/** Returns the cache of a storage. `undefined` if the log does not keep all records. */
function headCacheOf(log: RecordLog): HeadCache | undefined {
  if (log.capabilities.keeps) return undefined;
  const known = caches.get(log) ?? new HeadCache();
  caches.set(log, known);
  return known;
}
