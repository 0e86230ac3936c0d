import { type NextNumbers, numbersAfter, unknownKind, validateRecord } from "../checkpoint/format/validateRecord.ts";
import { wholeRecords } from "../checkpoint/format/leanRecords.ts";
import type { ChainLink } from "../checkpoint/format/EntryChain.ts";
import { liveEntries, pruningIn } from "../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../checkpoint/records/lineRecords.ts";
import { type Entry, entryBytes } from "../checkpoint/records/Entry.ts";
import { isShapeRecord } from "../checkpoint/format/ShapeRecord.ts";
import type { AgentState } from "../checkpoint/state/AgentState.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { estimateBytes } from "../checkpoint/values/estimateBytes.ts";
import {
  CorruptLogError,
  UnreadableValueError,
  UnsupportedRecordError,
  WrongShapeError,
} from "../errors/storedDataErrors.ts";
import { Pace } from "../internal/nextTurn.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import type { ReadOptions, RecordLog } from "./RecordLog.ts";

export interface ReadEntries {
  readonly index: LogProjection;
  readonly checksums: ReadonlyMap<number, string>;
  /** The end of the last entry. `undefined` for an empty log. */
  readonly end: ChainLink | undefined;
  readonly generation?: number | undefined;
}

export interface KnownHead {
  readonly index: LogProjection;
  readonly state: AgentState;
  readonly end: ChainLink;
  /** Whether new entries are added to the index itself, for its only user, and not to a copy. */
  readonly grows?: true;
}

type ReadableLog = Pick<RecordLog, "read">;

type Visitor = (record: AgentRecord) => void;

/** The sizes that {@link readPaced} has computed, so that the records are walked once. */
const bytesOfEntries = new WeakMap<readonly Entry[], readonly number[]>();

/** @throws CorruptLogError with the last checkpoint before the damage. */
export async function readEntries(
  log: ReadableLog,
  agentId: string,
  options: ReadOptions,
  visit?: Visitor,
): Promise<ReadEntries> {
  const stored = await storedEntries(log, agentId, options);
  // A `pruned` record affects all entries before it. A storage can also mark an entry that is no snapshot.
  if (options.sinceSnapshot && (pruningIn(stored) || !isWhole(stored)))
    return readEntries(log, agentId, { ...options, sinceSnapshot: false }, visit);
  return orDamage(log, agentId, () => indexed(liveEntries(stored), new LogProjection(), visit));
}

/**
 * Reads the entries after a known head, or from a newer snapshot.
 *
 * @returns the known index without new entries, or `undefined` if the log was pruned or lost the known end, so that the
 * whole log must be read.
 */
export async function readEntriesAfter(
  log: ReadableLog,
  agentId: string,
  { index, state, end, grows }: KnownHead,
  visit?: Visitor,
): Promise<ReadEntries | undefined> {
  const stored = await storedEntries(log, agentId, { after: end.position - 1, sinceSnapshot: true });
  const [first, ...added] = stored;
  if (!first || pruningIn(added)) return undefined;
  if (first.position === end.position && first.checksum === end.checksum)
    return added.length === 0
      ? { index, checksums: new Map(), end }
      : orDamage(log, agentId, () => indexed(added, grows ? index : index.continued(state), visit));
  return isWhole(stored) ? orDamage(log, agentId, () => indexed(stored, new LogProjection())) : undefined;
}

/** Whether no entry before the first one is needed. */
function isWhole(entries: readonly Entry[]): boolean {
  const [first] = entries;
  return !first || first.position === 1 || first.records.some(({ kind }) => kind === "snapshot");
}

/**
 * Reads the stored entries of an agent, oldest first, with pruned entries that still exist. Yields to the event loop
 * regularly.
 *
 * @throws WrongShapeError
 */
export async function readPaced(log: ReadableLog, agentId: string, options?: ReadOptions): Promise<readonly Entry[]> {
  const pace = new Pace();
  const entries: Entry[] = [];
  const bytes: number[] = [];
  bytesOfEntries.set(entries, bytes);
  for await (const entry of log.read(agentId, options)) {
    assertOfAgent(agentId, entry);
    const records = wholeRecords(entry.records);
    const size = entryBytes(records);
    entries.push({ ...entry, records });
    bytes.push(size);
    await pace.after(size);
  }
  return entries;
}

/** Returns the records that were appended after a position, without pruned records. @throws UnreadableValueError */
export async function readAdded(log: ReadableLog, agentId: string, after: number): Promise<readonly Entry[]> {
  const stored = await readPaced(log, agentId, { after });
  const defect = stored.map((entry) => validateRecord(entry)).find((found) => found !== undefined);
  if (defect !== undefined) throw new UnreadableValueError(defect);
  return after === 0 ? liveEntries(stored) : stored;
}

/** @throws WrongShapeError if the entry belongs to another kind of log than an agent. */
export function assertOfAgent(agentId: string, { records }: Pick<Entry, "records">): void {
  const found = records.find(isShapeRecord);
  if (found !== undefined) throw new WrongShapeError(agentId, found.shape, "agent");
}

async function storedEntries(log: ReadableLog, agentId: string, options: ReadOptions): Promise<readonly Entry[]> {
  return orDamage(log, agentId, async () => {
    const stored = await readPaced(log, agentId, options);
    for (const entry of stored) if (pruningIn([entry])) assertSound(entry);
    return stored;
  });
}

async function orDamage<Result>(log: ReadableLog, agentId: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    throw await withLastCheckpoint(asDamage(error), log, agentId);
  }
}

/** Converts the errors of inconsistent records, because a forger can compute valid checksums. */
function asDamage(error: unknown): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  return new UnreadableValueError("the records of the log are inconsistent", { cause: error });
}

/** @throws UnreadableValueError for records in a wrong order. @throws UnsupportedRecordError */
export async function assertSoundLog(entries: readonly Entry[]): Promise<void> {
  const pace = new Pace();
  let next: NextNumbers = { nextVersion: 1, nextLane: 1 };
  for (const entry of liveEntries(entries)) {
    assertSound(entry, next);
    next = (entry.records as readonly AgentRecord[]).reduce(numbersAfter, next);
    await pace.after(estimateBytes(entry.records));
  }
}

async function indexed(entries: readonly Entry[], index: LogProjection, visit?: Visitor): Promise<ReadEntries> {
  const pace = new Pace();
  const checksums = new Map<number, string>();
  const bytes = bytesOfEntries.get(entries);
  for (const [at, entry] of entries.entries()) {
    // A read that starts at a snapshot does not know the numbers of earlier records, so its first entry is checked
    // without them.
    assertSound(entry, index.entries === 0 && entry.position > 1 ? undefined : index);
    await pace.after(index.add(entry, bytes?.[at]));
    checksums.set(entry.position, entry.checksum);
    if (visit) for (const record of entry.records) visit(record as AgentRecord);
  }
  const end = entries.at(-1);
  return { index, checksums, end, generation: end?.generation };
}

/**
 * Checks the form of an entry, and the `next` expected numbers if given.
 *
 * @throws UnsupportedRecordError, UnreadableValueError
 */
export function assertSound(entry: Entry, next?: NextNumbers): void {
  const unknown = unknownKind(entry);
  if (unknown !== undefined) throw new UnsupportedRecordError(unknown, entry.position);
  const defect = validateRecord(entry, next);
  if (defect !== undefined) throw new UnreadableValueError(defect);
}

/** Adds the last checkpoint before the damage to an error about a damaged log. Returns other errors unchanged. */
export async function withLastCheckpoint(error: unknown, log: ReadableLog, agentId: string): Promise<unknown> {
  if (!(error instanceof CorruptLogError)) return error;
  const lastCheckpointId = await lastReadable(log, agentId, error.lastPosition);
  if (lastCheckpointId === undefined) return error;
  const { file, line, lastPosition, found } = error;
  return new CorruptLogError(error.agentId, withoutUndefined({ file, line, lastPosition, lastCheckpointId }), found);
}

export function lastCheckpointOf({ generation, records }: Entry): string | undefined {
  const record = records.findLast(({ kind }) => kind === "checkpoint") as CheckpointRecord | undefined;
  return record && (record.id ?? `${generation}-${record.version}`);
}

/** @param upTo The last intact position, because a storage may report damage before it returns entries. */
async function lastReadable(log: ReadableLog, agentId: string, upTo = Infinity): Promise<string | undefined> {
  let last: string | undefined;
  try {
    for await (const entry of log.read(agentId, { upTo })) last = lastCheckpointOf(entry) ?? last;
  } catch {
    // The damage starts here.
  }
  return last;
}
