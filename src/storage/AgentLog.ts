import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { emptyState, foldTo, type AgentState } from "../checkpoint/state/AgentState.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import { checkpointData } from "../checkpoint/data/checkpointData.ts";
import { LogProjection, type CheckpointPoint } from "../checkpoint/state/LogProjection.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import { liveEntries, pruningIn } from "../checkpoint/pruning/liveEntries.ts";
import { addValueReferences } from "../checkpoint/records/blobReferences.ts";
import { validateRecord } from "../checkpoint/format/validateRecord.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import { ValueReader, type BlobTexts } from "../checkpoint/state/ValueReader.ts";
import type { StoredValue } from "../checkpoint/values/valueCodec.ts";
import { stateReferences } from "../checkpoint/state/stateReferences.ts";
import { AgentPersistenceError } from "../errors/AgentPersistenceError.ts";
import { UnreadableValueError } from "../errors/storage/UnreadableValueError.ts";
import { readBlob } from "./readBlob.ts";
import type { ReadOptions, RecordLog } from "./RecordLog.ts";
import { withLastCheckpoint } from "./withLastCheckpoint.ts";

/** One agent's log as read: indexed, with the blobs that it refers to. */
export class AgentLog {
  readonly agentId: string;
  readonly index: LogProjection;
  readonly blobs: BlobTexts;
  readonly #checksums: ReadonlyMap<number, string>;

  private constructor(agentId: string, index: LogProjection, blobs: BlobTexts, checksums: ReadonlyMap<number, string>) {
    this.agentId = agentId;
    this.index = index;
    this.blobs = blobs;
    this.#checksums = checksums;
  }

  /** Reads the whole log, what follows its newest snapshot, or what comes up to a position. Owns and writes nothing. */
  static async read(
    log: RecordLog,
    agentId: string,
    options: Pick<ReadOptions, "sinceSnapshot" | "upTo"> = {},
  ): Promise<AgentLog> {
    const references = new Map<string, BlobCell>();
    const { index, checksums } = await readEntries(log, agentId, options, (record) => {
      addValueReferences(record, references);
    });
    return new AgentLog(agentId, index, await fetchBlobs(log, agentId, references), checksums);
  }

  /** Reads the whole log, and of the values in it only those in the notes of a key. */
  static async readNotes(log: RecordLog, agentId: string, key: string): Promise<AgentLog> {
    const references = new Map<string, BlobCell>();
    const { index, checksums } = await readEntries(log, agentId, {}, (record) => {
      if (record.kind === "note" && record.key === key) addValueReferences(record, references);
    });
    return new AgentLog(agentId, index, await fetchBlobs(log, agentId, references), checksums);
  }

  /** For values that stand alone: nothing is read but the blobs they are in. */
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
    throw await withLastCheckpoint(error, log, agentId);
  }
}

async function indexEntries(...[log, agentId, options, visit]: ReadArguments): Promise<ReadEntries> {
  const stored: Entry[] = [];
  for await (const entry of log.read(agentId, options)) {
    if (pruningIn([entry])) assertSound(entry);
    stored.push(entry);
  }
  // What was pruned is told by a record that counts for everything before it.
  if (options.sinceSnapshot && pruningIn(stored)) return indexEntries(log, agentId, {}, visit);
  const index = new LogProjection();
  const checksums = new Map<number, string>();
  for (const entry of liveEntries(stored)) {
    // What stands before a snapshot in its append counts from there: its versions are checked with those that follow.
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

/** A blob that is missing or damaged is an error for whoever needs its value, and for nobody else. */
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
