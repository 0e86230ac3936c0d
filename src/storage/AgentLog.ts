import type { AgentCheckpointData } from "../checkpoint/AgentCheckpointData.ts";
import { emptyState, stateAt, type AgentState } from "../checkpoint/AgentState.ts";
import { checkpointData } from "../checkpoint/checkpointData.ts";
import { LogIndex, type CheckpointPoint } from "../checkpoint/LogIndex.ts";
import { addBlobReferences } from "../checkpoint/blobReferences.ts";
import type { AgentRecord } from "../checkpoint/records.ts";
import { SlotReader, type BlobTexts } from "../checkpoint/SlotReader.ts";
import type { Slot } from "../checkpoint/valueCodec.ts";
import { UnreadableValueError } from "../errors/UnreadableValueError.ts";
import type { RecordLog } from "./RecordLog.ts";

/** One agent's log as read: indexed, with the blobs that it refers to. */
export class AgentLog {
  readonly agentId: string;
  readonly index: LogIndex;
  readonly blobs: BlobTexts;
  readonly #checksums: ReadonlyMap<number, string>;

  private constructor(agentId: string, index: LogIndex, blobs: BlobTexts, checksums: ReadonlyMap<number, string>) {
    this.agentId = agentId;
    this.index = index;
    this.blobs = blobs;
    this.#checksums = checksums;
  }

  /** Reads the whole log, or what follows its newest snapshot. Owns and writes nothing. */
  static async read(
    log: RecordLog,
    agentId: string,
    options: { readonly sinceSnapshot?: boolean } = {},
  ): Promise<AgentLog> {
    const index = new LogIndex();
    const checksums = new Map<number, string>();
    const references = new Set<string>();
    for await (const entry of log.read(agentId, options)) {
      index.add(entry);
      checksums.set(entry.position, entry.checksum);
      for (const record of entry.records) addBlobReferences(record as AgentRecord, references);
    }
    return new AgentLog(agentId, index, await fetchBlobs(log, agentId, references), checksums);
  }

  /** For values that stand alone: nothing is read but the blobs they are in. */
  static async ofValues(log: RecordLog, agentId: string, references: ReadonlySet<string>): Promise<AgentLog> {
    return new AgentLog(agentId, new LogIndex(), await fetchBlobs(log, agentId, references), new Map());
  }

  /**
   * Reads what the head needs: from the newest snapshot where that is enough, else everything.
   */
  static async readHead(
    log: RecordLog,
    agentId: string,
  ): Promise<{ readonly log: AgentLog; readonly state: AgentState | undefined }> {
    const recent = await AgentLog.read(log, agentId, { sinceSnapshot: true });
    const state = stateAt(recent.index);
    if (state || recent.index.position === 0) return { log: recent, state };
    const whole = await AgentLog.read(log, agentId);
    return { log: whole, state: stateAt(whole.index) };
  }

  /** Whether the line to a checkpoint is within what was read. */
  reaches(point: CheckpointPoint): boolean {
    return stateAt(this.index, point) !== undefined;
  }

  data(point: CheckpointPoint): AgentCheckpointData {
    return checkpointData(this.agentId, this.index, point, this.#checksums.get(point.position) ?? "", this.blobs);
  }

  /** A stored value that refers to nothing but a blob. */
  readValue(slot: Slot): unknown {
    return new SlotReader(emptyState, this.blobs).read(slot);
  }

  reader(state: AgentState): SlotReader {
    return new SlotReader(state, this.blobs);
  }
}

async function fetchBlobs(log: RecordLog, agentId: string, references: ReadonlySet<string>): Promise<BlobTexts> {
  const texts = new Map<string, string>();
  const decoder = new TextDecoder();
  for (const reference of references) {
    const bytes = await log.blobs.get(agentId, reference);
    if (bytes === undefined) throw new UnreadableValueError(`the blob ${reference} is missing`);
    texts.set(reference, decoder.decode(bytes));
  }
  return texts;
}
