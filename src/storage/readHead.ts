import type { AgentState } from "../checkpoint/state/AgentState.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";
import { leanState } from "../checkpoint/state/leanState.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { stateReferences } from "../checkpoint/state/stateReferences.ts";
import { AgentLog } from "./AgentLog.ts";
import { fetchBlobs } from "./fetchBlobs.ts";
import { type CachedHead, headCacheOf } from "./HeadCache.ts";
import { type KnownHead, type ReadEntries, readEntries, readEntriesAfter } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import { SnapshotDue } from "./SnapshotDue.ts";

/** What of a log its head needs. */
export interface AgentHead {
  readonly log: AgentLog;
  /** `undefined` for an agent without records. */
  readonly state: AgentState | undefined;
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
  if (read.index === known?.index) return headOf(agentId, known, known.state);
  const before = read.index.base?.state === known?.state ? known : undefined;
  const head = { ...read, ...(await partsOf(log, agentId, read.state, before)), ...snapshotDueOf(known) };
  const state = leanState(read.state, before?.state);
  cache?.set(agentId, { ...head, state, index: read.index.continued(state) });
  return headOf(agentId, head, read.state);
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
  state?: AgentState,
): AgentHead {
  return { log: new AgentLog(agentId, index, blobs, { values }), state, snapshotDue };
}

/** The blobs that a state needs, as texts or as values; of those that were read before, none is read again. */
async function partsOf(
  log: RecordLog,
  agentId: string,
  state: AgentState,
  before: CachedHead | undefined,
): Promise<Pick<CachedHead, "blobs" | "values">> {
  const { blobs: known, values } = before ?? emptyHead();
  const references = stateReferences(state, before?.state);
  const missing = new Map([...references].filter(([reference]) => !known.has(reference)));
  if (missing.size === 0) return { blobs: known, values };
  return { blobs: new Map([...known, ...(await fetchBlobs(log, agentId, missing))]), values };
}

/** `undefined`: read it as if nothing was known. */
async function readAfter(log: RecordLog, agentId: string, known: KnownHead): Promise<KnownHead | undefined> {
  const read = await readEntriesAfter(log, agentId, known);
  return read?.index === known.index ? known : read && folded(read);
}

/** `undefined` for an agent without records. */
async function readAsNew(log: RecordLog, agentId: string): Promise<KnownHead | undefined> {
  const recent = await readEntries(log, agentId, { sinceSnapshot: true });
  if (recent.end === undefined) return undefined;
  return folded(recent) ?? folded(await readEntries(log, agentId, {}));
}

/** `undefined` when the head begins before what was read. */
function folded({ index, end }: ReadEntries): KnownHead | undefined {
  const state = foldTo(index);
  return state && end && { index, state, end };
}
