import type { Message } from "../checkpoint/messages/Message.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import { addValueReferences } from "../checkpoint/records/blobReferences.ts";
import { type AgentState, emptyState } from "../checkpoint/state/AgentState.ts";
import type { CheckpointPoint } from "../checkpoint/records/lineRecords.ts";
import { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { type BlobTexts, type DecodedValues, ValueReader } from "../checkpoint/state/ValueReader.ts";
import type { BlobCell, BlobCells } from "../checkpoint/values/BlobCell.ts";
import type { StoredValue } from "../checkpoint/values/valueCodec.ts";
import { fetchBlobs } from "./blobs.ts";
import { readEntries } from "./readEntries.ts";
import type { ReadOptions, RecordLog } from "./RecordLog.ts";

/** An indexed copy of all or a part of one agent's log, with the referenced blobs. */
export class AgentLog {
  readonly #checksums: ReadonlyMap<number, string>;
  readonly #values: DecodedValues;

  constructor(
    readonly agentId: string,
    readonly index: LogProjection,
    readonly blobs: BlobTexts,
    {
      checksums = new Map(),
      values = new WeakMap(),
    }: { readonly checksums?: ReadonlyMap<number, string>; readonly values?: DecodedValues } = {},
  ) {
    this.#checksums = checksums;
    this.#values = values;
  }

  static async read(
    log: RecordLog,
    agentId: string,
    options: ReadOptions = {},
    needsValues: (record: AgentRecord) => boolean = () => true,
  ): Promise<AgentLog> {
    const references = new Map<string, BlobCell>();
    const { index, checksums } = await readEntries(log, agentId, options, (record) => {
      if (needsValues(record)) addValueReferences(record, references);
    });
    return new AgentLog(agentId, index, await fetchBlobs(log, agentId, references), { checksums });
  }

  /** Reads from the newest snapshot, or the whole log if the records since then are not enough. */
  static async readRecent(
    log: RecordLog,
    agentId: string,
    isEnough: (recent: AgentLog) => boolean,
    needsValues?: (record: AgentRecord) => boolean,
  ): Promise<AgentLog> {
    const recent = await AgentLog.read(log, agentId, { sinceSnapshot: true }, needsValues);
    return !recent.index.base || isEnough(recent) ? recent : AgentLog.read(log, agentId, {}, needsValues);
  }

  static async ofValues(
    log: RecordLog,
    agentId: string,
    references: BlobCells,
    index: LogProjection = new LogProjection(),
  ): Promise<AgentLog> {
    return new AgentLog(agentId, index, await fetchBlobs(log, agentId, references));
  }

  /** Returns the checksum of the append with a checkpoint. Empty if the log keeps no checksums. */
  checksumOf(point: CheckpointPoint): string {
    return this.#checksums.get(point.position) ?? "";
  }

  readValue(slot: StoredValue): unknown {
    return this.reader(emptyState).read(slot);
  }

  messagesOf(state: AgentState): readonly Message[] {
    const reader = this.reader(state);
    return state.history.map(({ message }) => reader.message(message));
  }

  reader(state: AgentState): ValueReader {
    return new ValueReader(state, this.blobs, this.#values);
  }
}
