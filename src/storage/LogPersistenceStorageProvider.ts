import type { z } from "zod";
import type { AgentCheckpointData } from "../checkpoint/data/AgentCheckpointData.ts";
import { decodeCheckpoint, encodeCheckpoint } from "../checkpoint/data/checkpointCodec.ts";
import { defaultInlineThresholdBytes } from "../checkpoint/format/BlobWriter.ts";
import type { ChainLink } from "../checkpoint/format/EntryChain.ts";
import { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import { assertReadable } from "../checkpoint/format/validateRecord.ts";
import { emptyState } from "../checkpoint/state/AgentState.ts";
import type { LogProjection } from "../checkpoint/state/LogProjection.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { numberFrom, objectWithMethods, sha256Schema } from "../internal/options/optionSchemas.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { platformSha256 } from "../internal/sha256/platformSha256.ts";
import { foldTo } from "../checkpoint/state/foldTo.ts";
import { AgentLog } from "./AgentLog.ts";
import { processOwner } from "./ReleasableLog.ts";
import {
  filterCheckpoints,
  type CheckpointFilter,
  type PersistenceStorageProvider,
} from "./PersistenceStorageProvider.ts";
import { readEntries, readEntriesAfter } from "./readEntries.ts";
import type { RecordLog } from "./RecordLog.ts";
import { defaultCompressThresholdBytes, putBlobs } from "./blobs.ts";

/** Options for the storage of values in a log. */
export interface LogProviderOptions {
  /** Values with more bytes of UTF-8 JSON than this are stored as blobs, once each. Defaults to 10,240. */
  readonly inlineThresholdBytes?: number | undefined;
  /** Blobs with more bytes than this are compressed if that makes them smaller. Defaults to 102,400. */
  readonly compressThresholdBytes?: number | undefined;
  /** Defaults to the SHA-256 of Node, or to a JavaScript implementation on other platforms. */
  readonly sha256?: Sha256 | undefined;
}

export const logProviderShape: Readonly<Record<keyof LogProviderOptions, z.ZodType>> = {
  inlineThresholdBytes: numberFrom(0).optional(),
  compressThresholdBytes: numberFrom(0).optional(),
  sha256: sha256Schema.optional(),
};

const optionsSchema = strictOptions(() => logProviderShape);

interface KnownLog {
  readonly agentId: string;
  readonly index: LogProjection;
  readonly end: ChainLink;
}

/**
 * A storage provider on top of a `RecordLog`. Authors of a full backend wrap their log in this class. Returns decoded
 * values.
 *
 * @example
 * ```ts
 * const storage = new LogPersistenceStorageProvider(new MyRecordLog());
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class LogPersistenceStorageProvider implements PersistenceStorageProvider<CheckpointFilter> {
  readonly log: RecordLog;
  readonly inlineThresholdBytes: number;
  readonly compressThresholdBytes: number;
  readonly #sha256: Sha256 | undefined;
  /** The log of the agent in the last `saveCheckpoint` call. */
  #known: KnownLog | undefined;

  constructor(log: RecordLog, options: LogProviderOptions = {}) {
    checkSchema(objectWithMethods<RecordLog>("open", "read", "list", "owner"), log, "log of a storage");
    checkSchema(optionsSchema, options, "options of a storage");
    this.log = log;
    this.inlineThresholdBytes = options.inlineThresholdBytes ?? defaultInlineThresholdBytes;
    this.compressThresholdBytes = options.compressThresholdBytes ?? defaultCompressThresholdBytes;
    this.#sha256 = options.sha256;
  }

  /** Returns the hash function of this storage. */
  async sha256(): Promise<Sha256> {
    return this.#sha256 ?? (await platformSha256());
  }

  async getCheckpoints(agentId: string, filter?: CheckpointFilter): Promise<readonly AgentCheckpointData[]> {
    const read = await AgentLog.read(this.log, agentId);
    const { checkpointData, pointsIn } = await import("../checkpoint/data/checkpointData.ts");
    return filterCheckpoints(pointsIn(read.index), filter).map(({ point }) => checkpointData(read, point));
  }

  /**
   * Adds a whole checkpoint from outside a run, and owns the agent meanwhile. The first call reads the agent's log.
   * Later calls read only new entries. Large values are read only if the parent checkpoint has them. Runs do not use
   * this method, because they write only new records.
   *
   * @throws AgentBusyError if the agent is running.
   * @throws AlreadyExistsError if the id is in use or the version is not above the last version.
   * @throws InvalidInputError if a field is invalid, so that readers would reject it.
   */
  async saveCheckpoint(agentId: string, checkpoint: AgentCheckpointData): Promise<void> {
    // Copies the checkpoint before the first await, because the caller may change it afterwards.
    const given = decodeCheckpoint(encodeCheckpoint(checkpoint));
    const { importCheckpoint, parentReferences } = await import("../checkpoint/data/importCheckpoint.ts");
    const owned = await this.log.open(agentId, processOwner());
    try {
      const index = await this.#indexOf(agentId);
      const { blobs } = await AgentLog.ofValues(this.log, agentId, parentReferences(given, index), index);
      const writer = new ValueWriter({ sha256: await this.sha256(), inlineThresholdBytes: this.inlineThresholdBytes });
      const records = importCheckpoint(given, index, blobs, writer);
      assertReadable(records);
      const uploads = writer.takeUploads(records);
      await putBlobs(this.log.blobs, agentId, owned.generation, uploads, this.compressThresholdBytes);
      await owned.append({ id: `import-${crypto.randomUUID()}`, records }, owned.position);
    } finally {
      await owned.release();
    }
  }

  async getLatestCheckpoint(agentId: string, filter?: CheckpointFilter): Promise<AgentCheckpointData | undefined> {
    const recent = await AgentLog.read(this.log, agentId, { sinceSnapshot: filter?.nodeId === undefined });
    const { latest, base } = recent.index;
    // The records of tool calls precede the snapshot of their checkpoint, unless the snapshot is the first record of
    // its lane.
    const whole =
      base === undefined || (latest && (base.first || latest.order > base.order) && foldTo(recent.index, latest))
        ? recent
        : await AgentLog.read(this.log, agentId);
    const { checkpointData, pointsIn } = await import("../checkpoint/data/checkpointData.ts");
    const found = filterCheckpoints(pointsIn(whole.index, true), filter).at(-1);
    return found && checkpointData(whole, found.point);
  }

  /** Reads the whole log of an agent that this process owns, without its values. */
  async #indexOf(agentId: string): Promise<LogProjection> {
    const known = this.#known?.agentId === agentId ? this.#known : undefined;
    // Prevents concurrent use while the projection grows.
    this.#known = undefined;
    const added = known && (await readEntriesAfter(this.log, agentId, { ...known, state: emptyState, grows: true }));
    const isWhole = added !== undefined && added.index === known?.index;
    const { index, end } = isWhole ? added : await readEntries(this.log, agentId, {});
    if (end) this.#known = { agentId, index, end };
    return index;
  }
}
