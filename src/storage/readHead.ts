import { hasOneLine, type LineStates, lineReferences, openLineStates } from "../checkpoint/data/openLines.ts";
import type { AgentState } from "../checkpoint/state/AgentState.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";
import { leanState } from "../checkpoint/state/leanState.ts";
import { refersToLane } from "../checkpoint/state/lineValue.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { stateReferences } from "../checkpoint/state/stateReferences.ts";
import { UnreadableValueError } from "../errors/storage/UnreadableValueError.ts";
import { AgentLog } from "./AgentLog.ts";
import { fetchBlobs } from "./fetchBlobs.ts";
import { type CachedHead, type HeadCache, headCacheOf } from "./HeadCache.ts";
import { type KnownHead, type ReadEntries, readEntries, readEntriesAfter } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import { SnapshotDue } from "./SnapshotDue.ts";

/** What of a log its head needs. */
export interface AgentHead {
  readonly log: AgentLog;
  /** The state of the main line; `undefined` for an agent without records. */
  readonly state: AgentState | undefined;
  /** The states of the open nested lines that have not ended, by lane: each after the line that it is nested in. */
  readonly lines: LineStates;
  readonly snapshotDue: SnapshotDue;
}

/**
 * Reads what the head needs, and no blob besides. Of an agent that was read lately in this process only what was appended
 * since; of any other from the newest snapshot where that is enough, else everything.
 */
export async function readHead(log: RecordLog, agentId: string): Promise<AgentHead> {
  const cache = headCacheOf(log);
  const known = cache?.get(agentId);
  const read = (known && (await readAfter(log, agentId, known))) ?? (await readAsNew(log, agentId));
  if (read === undefined) return headOf(agentId, { index: new LogProjection(), ...emptyHead() });
  if (read.index === known?.index) return headOf(agentId, known, known);
  const before = read.index.base?.state === known?.state ? known : undefined;
  const head = { ...read, ...(await partsOf(log, agentId, read, before)), ...snapshotDueOf(known) };
  if (hasOneLine(read.index)) remember(cache, agentId, head, before);
  return headOf(agentId, head, read);
}

/** A head with nested lines is read again each time: what they have recorded would be forgotten. */
function remember(
  cache: HeadCache | undefined,
  agentId: string,
  { index, state: whole, end, blobs, values, snapshotDue }: CachedHead,
  before: CachedHead | undefined,
): void {
  const state = leanState(whole, before?.state);
  cache?.set(agentId, { index: index.continued(state), state, end, blobs, values, snapshotDue });
}

/** What was read, with the states of the open lines. */
interface ReadStates extends KnownHead {
  readonly lines: LineStates;
}

function snapshotDueOf({ snapshotDue }: Pick<CachedHead, "snapshotDue"> = emptyHead()) {
  return { snapshotDue };
}

type ReadParts = Pick<CachedHead, "blobs" | "values" | "snapshotDue">;

function emptyHead(): ReadParts {
  return { blobs: new Map(), values: new WeakMap(), snapshotDue: new SnapshotDue() };
}

function headOf(
  agentId: string,
  { index, blobs, values, snapshotDue }: ReadParts & Pick<CachedHead, "index">,
  { state, lines = new Map() }: Partial<Pick<ReadStates, "state" | "lines">> = {},
): AgentHead {
  return { log: new AgentLog(agentId, index, blobs, { values }), state, lines, snapshotDue };
}

/** The blobs that the open lines need, as texts or as values; of those that were read before, none is read again. */
async function partsOf(
  log: RecordLog,
  agentId: string,
  { index, state, lines }: ReadStates,
  before: CachedHead | undefined,
): Promise<Pick<CachedHead, "blobs" | "values">> {
  const { blobs: known, values } = before ?? emptyHead();
  const references = [...stateReferences(state, before?.state), ...lineReferences(index, lines)];
  const missing = new Map(references.filter(([reference]) => !known.has(reference)));
  if (missing.size === 0) return { blobs: known, values };
  return { blobs: new Map([...known, ...(await fetchBlobs(log, agentId, missing))]), values };
}

/** `undefined`: read it as if nothing was known. */
async function readAfter(log: RecordLog, agentId: string, known: KnownHead): Promise<ReadStates | undefined> {
  const read = await readEntriesAfter(log, agentId, known);
  return read?.index === known.index ? { ...known, lines: new Map() } : read && foldedPart(read);
}

/** `undefined` for an agent without records. */
async function readAsNew(log: RecordLog, agentId: string): Promise<ReadStates | undefined> {
  const recent = await readEntries(log, agentId, { sinceSnapshot: true });
  if (recent.end === undefined) return undefined;
  return foldedPart(recent) ?? foldedWhole(await readEntries(log, agentId, {}));
}

/** `undefined` when an open line begins before what was read, or a message of the main line is there. */
function foldedPart({ index, end }: ReadEntries): ReadStates | undefined {
  const state = foldTo(index);
  const lines = openLineStates(index);
  if (!state || !end || typeof lines === "number") return undefined;
  const isWhole = [state, ...lines.values()].every(({ history }) =>
    history.every(({ message }) => !refersToLane(message)),
  );
  return isWhole ? { index, state, lines, end } : undefined;
}

/** @throws UnreadableValueError when the log does not contain all of an open line. */
function foldedWhole({ index, end }: ReadEntries): ReadStates | undefined {
  const state = foldTo(index);
  const lines = openLineStates(index);
  if (typeof lines === "number") throw new UnreadableValueError(`what leads to lane ${lines} is not in the log`);
  return state && end && { index, state, lines, end };
}
