import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { checkpointData } from "../checkpoint/data/checkpointData.ts";
import { validateRecord } from "../checkpoint/format/validateRecord.ts";
import { liveEntries, pruningIn } from "../checkpoint/pruning/liveEntries.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import { addValueReferences } from "../checkpoint/records/blobReferences.ts";
import { type AgentState, emptyState, foldTo } from "../checkpoint/state/AgentState.ts";
import { type CheckpointPoint, LogProjection } from "../checkpoint/state/LogProjection.ts";
import { type BlobTexts, ValueReader } from "../checkpoint/state/ValueReader.ts";
import { stateReferences } from "../checkpoint/state/stateReferences.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../checkpoint/values/valueCodec.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { CorruptBlobError } from "../errors/storage/CorruptBlobError.ts";
import { CorruptLogError } from "../errors/storage/CorruptLogError.ts";
import { UnreadableValueError } from "../errors/storage/UnreadableValueError.ts";
import { withoutUndefined } from "../internal/withoutUndefined.ts";
import { gunzip } from "../internal/gzip.ts";
import type { BlobStore } from "./BlobStore.ts";
import type { ReadOptions, RecordLog } from "./RecordLog.ts";
import { maximumCompressedTextBytes } from "./putBlobs.ts";

/** One agent's log as read: indexed, with the blobs that it refers to. */
export class AgentLog {
  readonly #checksums: ReadonlyMap<number, string>;

  private constructor(
    readonly agentId: string,
    readonly index: LogProjection,
    readonly blobs: BlobTexts,
    checksums: ReadonlyMap<number, string>,
  ) {
    this.#checksums = checksums;
  }

  /** Reads the whole log, what follows its newest snapshot, or what comes up to a position. Owns and writes nothing. */
  static async read(
    log: RecordLog,
    agentId: string,
    options: Pick<ReadOptions, "sinceSnapshot" | "upTo"> = {},
    needsValues: (record: AgentRecord) => boolean = () => true,
  ): Promise<AgentLog> {
    const references = new Map<string, BlobCell>();
    const { index, checksums } = await readEntries(log, agentId, options, (record) => {
      if (needsValues(record)) addValueReferences(record, references);
    });
    return new AgentLog(agentId, index, await fetchBlobs(log, agentId, references), checksums);
  }

  /** Reads the whole log, and of the values in it only those in the notes of a key. */
  static readNotes(log: RecordLog, agentId: string, key: string): Promise<AgentLog> {
    return AgentLog.read(log, agentId, {}, (record) => record.kind === "note" && record.key === key);
  }

  /** For values outside a log: only the blobs that hold them are read. */
  static async ofValues(log: RecordLog, agentId: string, references: BlobCells): Promise<AgentLog> {
    return new AgentLog(agentId, new LogProjection(), await fetchBlobs(log, agentId, references), new Map());
  }

  /** Reads what the head needs, and no blob besides: from the newest snapshot where that is enough, else everything. */
  static async readHead(
    log: RecordLog,
    agentId: string,
  ): Promise<{ readonly log: AgentLog; readonly state: AgentState | undefined }> {
    let read = await readEntries(log, agentId, { sinceSnapshot: true });
    let state = foldTo(read.index);
    if (!state && read.index.position > 0) {
      read = await readEntries(log, agentId, {});
      state = foldTo(read.index);
    }
    const blobs = await fetchBlobs(log, agentId, state ? stateReferences(state) : new Map());
    return { log: new AgentLog(agentId, read.index, blobs, read.checksums), state };
  }

  /** Whether the line to a checkpoint is within what was read. */
  reaches(point: CheckpointPoint): boolean {
    return foldTo(this.index, point) !== undefined;
  }

  data(point: CheckpointPoint): AgentCheckpointData {
    return checkpointData(this.agentId, this.index, point, this.#checksums.get(point.position) ?? "", this.blobs);
  }

  /** A stored value that refers to nothing but a blob. */
  readValue(slot: StoredValue): unknown {
    return new ValueReader(emptyState, this.blobs).read(slot);
  }

  reader(state: AgentState): ValueReader {
    return new ValueReader(state, this.blobs);
  }
}

interface ReadEntries {
  readonly index: LogProjection;
  readonly checksums: ReadonlyMap<number, string>;
}

type ReadArguments = readonly [
  log: RecordLog,
  agentId: string,
  options: Pick<ReadOptions, "sinceSnapshot" | "upTo">,
  visit?: (record: AgentRecord) => void,
];

/** @throws CorruptLogError with the last checkpoint before the damage. */
async function readEntries(...args: ReadArguments): Promise<ReadEntries> {
  const [log, agentId] = args;
  try {
    return await indexEntries(...args);
  } catch (error) {
    throw await withLastCheckpoint(asDamage(error), log, agentId);
  }
}

/** Records with right checksums may still not fit together: whoever can write them can compute those. */
function asDamage(error: unknown): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  return new UnreadableValueError("the records of the log do not fit together", { cause: error });
}

/** @throws UnreadableValueError for records that no version of this library writes in this order. */
export function assertSoundLog(entries: readonly Entry[]): void {
  let nextVersion = 1;
  for (const entry of liveEntries(entries)) {
    assertSound(entry, nextVersion);
    for (const record of entry.records as readonly AgentRecord[])
      if (record.kind === "checkpoint") nextVersion = Math.max(nextVersion, record.version + 1);
  }
}

async function indexEntries(...[log, agentId, options, visit]: ReadArguments): Promise<ReadEntries> {
  const stored: Entry[] = [];
  for await (const entry of log.read(agentId, options)) {
    if (pruningIn([entry])) assertSound(entry);
    stored.push(entry);
  }
  // A `pruned` record counts for everything before it.
  if (options.sinceSnapshot && pruningIn(stored)) return indexEntries(log, agentId, {}, visit);
  const index = new LogProjection();
  const checksums = new Map<number, string>();
  for (const entry of liveEntries(stored)) {
    // Records before a snapshot in its append count from there: their versions are checked with those that follow.
    assertSound(entry, index.entries === 0 && entry.position > 1 ? undefined : index.nextVersion);
    index.add(entry);
    checksums.set(entry.position, entry.checksum);
    if (visit) for (const record of entry.records) visit(record as AgentRecord);
  }
  return { index, checksums };
}

function assertSound(entry: Entry, nextVersion?: number): void {
  const defect = validateRecord(entry, nextVersion);
  if (defect !== undefined) throw new UnreadableValueError(defect);
}

/** A blob that is missing or damaged is an error only for the reader of its value. */
async function fetchBlobs(log: RecordLog, agentId: string, references: BlobCells): Promise<BlobTexts> {
  const texts = new Map<string, string | AgentPersistenceError>();
  for (const [reference, cell] of references) {
    try {
      const text = await readBlob(log.blobs, agentId, cell);
      if (text !== undefined) texts.set(reference, text);
    } catch (error) {
      if (!AgentPersistenceError.isInstance(error)) throw error;
      texts.set(reference, error);
    }
  }
  return texts;
}

const decoder = new TextDecoder();

/** The text of a blob; `undefined` when it is missing. @throws CorruptBlobError */
export async function readBlob(blobs: BlobStore, agentId: string, cell: BlobCell): Promise<string | undefined> {
  const [reference, length, hash] = cell;
  const bytes = await blobs.get(agentId, reference);
  if (bytes === undefined || hash === undefined) return bytes && decoder.decode(bytes);
  // Nothing is ever stored with such a length: it was changed to fill the memory.
  if (length > maximumCompressedTextBytes)
    throw new CorruptBlobError(agentId, reference, `is said to hold ${length} bytes, more than is ever compressed`);
  try {
    return decoder.decode(await gunzip(bytes, length));
  } catch (cause) {
    throw new CorruptBlobError(agentId, reference, `cannot be decompressed to the ${length} bytes stated`, { cause });
  }
}

/** Adds the last checkpoint before the damage to an error about a damaged log; returns any other error unchanged. */
export async function withLastCheckpoint(error: unknown, log: RecordLog, agentId: string): Promise<unknown> {
  if (!(error instanceof CorruptLogError)) return error;
  const lastCheckpointId = await lastReadable(log, agentId);
  if (lastCheckpointId === undefined) return error;
  const { file, line, lastPosition, found } = error;
  return new CorruptLogError(error.agentId, withoutUndefined({ file, line, lastPosition, lastCheckpointId }), found);
}

/** The id of the last checkpoint in an append; `undefined` when it has none. */
export function lastCheckpointOf({ generation, records }: Entry): string | undefined {
  const record = records.findLast(({ kind }) => kind === "checkpoint") as CheckpointRecord | undefined;
  return record && (record.id ?? `${generation}-${record.version}`);
}

async function lastReadable(log: RecordLog, agentId: string): Promise<string | undefined> {
  let last: string | undefined;
  try {
    for await (const entry of log.read(agentId)) last = lastCheckpointOf(entry) ?? last;
  } catch {
    // Here the damage begins.
  }
  return last;
}
