import { isShapeRecord } from "../../checkpoint/format/ShapeRecord.ts";
import { wholeRecords } from "../../checkpoint/format/leanRecords.ts";
import { liveEntries, pruningIn } from "../../checkpoint/pruning/liveEntries.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import {
  CorruptLogError,
  UnreadableValueError,
  UnsupportedFormatError,
  UnsupportedRecordError,
} from "../../errors/storedDataErrors.ts";
import { estimateBytes } from "../../checkpoint/values/estimateBytes.ts";
import { Pace } from "../../internal/nextTurn.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { assertSound } from "../../storage/readEntries.ts";
import type { ReadOptions, RecordLog } from "../../storage/RecordLog.ts";
import { AgentIndex } from "./AgentIndex.ts";
import { leanEntry } from "./leanRecord.ts";
import { deleteOldest } from "../../internal/deleteOldest.ts";
import { Mutex } from "../../internal/Mutex.ts";

/** The number of cached agents. */
const most = 2;

/** Indexes a log without its values, up to the first damage, which the index reports. */
export async function readIndex(log: RecordLog, agentId: string): Promise<AgentIndex> {
  const read = await readLean(log, agentId, {});
  const index = new AgentIndex(agentId, read.shape);
  if (read.shape !== undefined) index.end = { ...index.end, position: read.lastPosition };
  for (const entry of liveEntries(read.entries)) if (!addSound(index, entry)) return index;
  noteEnd(index, read);
  return index;
}

/** Adds new entries to an index. @returns `false` if the log must be read again. */
async function readOn(log: RecordLog, index: AgentIndex): Promise<boolean> {
  const { position, checksum } = index.end;
  if (position === 0 || index.shape !== "agent" || index.damage.length > 0) return false;
  const read = await readLean(log, index.agentId, { after: position - 1 });
  const [known, ...added] = read.entries;
  if (read.shape !== undefined) return false;
  if (known?.position !== position || known.checksum !== checksum || pruningIn(added)) return false;
  for (const entry of added) if (!addSound(index, entry)) return true;
  noteEnd(index, { ...read, entries: added });
  return true;
}

interface LeanEntries {
  readonly entries: readonly Entry[];
  /** The kind of a log that belongs to no agent. The records of such a log are not indexed. */
  readonly shape?: string;
  readonly lastPosition: number;
  /** The error that ended the read. `undefined` if all appends were read. */
  readonly error?: unknown;
}

async function readLean(log: RecordLog, agentId: string, options: ReadOptions): Promise<LeanEntries> {
  const read = await readSound(log, agentId, options);
  const { lastPosition } = read.error instanceof CorruptLogError ? read.error : {};
  if (lastPosition === undefined || lastPosition <= (read.entries.at(-1)?.position ?? 0)) return read;
  // If the end of the log is missing, a storage may report this before it returns the existing entries.
  const before = await readSound(log, agentId, { ...options, upTo: lastPosition });
  return { ...before, error: read.error };
}

async function readSound(log: RecordLog, agentId: string, options: ReadOptions): Promise<LeanEntries> {
  const entries: Entry[] = [];
  const pace = new Pace();
  let [shape, lastPosition]: [string | undefined, number] = [undefined, 0];
  try {
    for await (const stored of log.read(agentId, options)) {
      if (lastPosition === 0) shape = shapeIn(stored);
      lastPosition = stored.position;
      if (shape !== undefined) continue;
      const entry = { ...stored, records: wholeRecords(stored.records) };
      assertSound(entry);
      entries.push(leanEntry(entry));
      await pace.after(estimateBytes(entry.records));
    }
    return withoutUndefined({ entries, lastPosition, shape });
  } catch (error) {
    if (!isDamage(error)) throw error;
    return withoutUndefined({ entries, lastPosition, shape, error });
  }
}

function shapeIn({ records }: Entry): string | undefined {
  const record = records.find(isShapeRecord);
  return record && String(record.shape);
}

/** Adds an entry to an index. If the entry contradicts earlier entries, reports damage. */
function addSound(index: AgentIndex, entry: Entry): boolean {
  try {
    assertSound(entry, index.log.entries === 0 && entry.position > 1 ? undefined : index.log);
    index.add(entry);
    return true;
  } catch (error) {
    if (!isDamage(error)) throw error;
    noteDamage(index, error);
    return false;
  }
}

function noteEnd(index: AgentIndex, { entries, error }: LeanEntries): void {
  const pruned = pruningIn(entries);
  const at = pruned && entries.findLast(({ records }) => (records as readonly unknown[]).includes(pruned));
  if (pruned && at) index.pruning = { position: at.position, upTo: pruned.upTo };
  if (error !== undefined) noteDamage(index, error);
}

const damages = [CorruptLogError, UnsupportedFormatError, UnsupportedRecordError, UnreadableValueError];

/** Whether an error concerns the stored data. Inconsistent records cause a `TypeError` or `RangeError`. */
export function isDamage(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return AgentPersistenceError.isInstance(error) && damages.some((kind) => error instanceof kind);
}

function noteDamage({ log, end, damage, errors }: AgentIndex, error: unknown): void {
  const { file, line } = error instanceof CorruptLogError ? error : {};
  const [lastPosition, lastCheckpointId] = [end.position, log.latest?.id];
  damage.push(withoutUndefined({ ...problemOf(error), file, line, lastPosition, lastCheckpointId }));
  errors.push(error);
}

export function problemOf(error: unknown): { readonly code: string; readonly message: string } {
  if (AgentPersistenceError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: "unreadable_value", message: "the records of the log are inconsistent" };
}

/** Caches the indexes of recently inspected agents, so that only new entries are read. */
export function openedLogs(log: RecordLog): (agentId: string) => Promise<AgentIndex> {
  const indexes = new Map<string, AgentIndex>();
  // An index must not be changed by two readers at the same time.
  const turns = new Mutex();
  return (agentId) =>
    turns.runExclusive(async () => {
      const known = indexes.get(agentId);
      indexes.delete(agentId);
      const index = known && (await readOn(log, known)) ? known : await readIndex(log, agentId);
      indexes.set(agentId, index);
      deleteOldest(indexes, most);
      return index;
    });
}
