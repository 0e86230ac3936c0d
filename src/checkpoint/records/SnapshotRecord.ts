import type { StoredValue } from "../values/valueCodec.ts";
import type { CheckpointRecord } from "./CheckpointRecord.ts";
import type { DecisionRecord, RequirementsRecord, SettingsRecord, StructureRecord } from "./lineRecords.ts";
import type { RunRecord, TaskRecord } from "./runRecords.ts";

/** The state at the head, by value, so that a reader can begin here. Written only where a visit begins or the run ends. */
export interface SnapshotRecord {
  readonly kind: "snapshot";
  readonly checkpoint: CheckpointRecord;
  readonly checkpointId: string;
  readonly parent?: number;
  readonly parentId?: string;
  /** The checkpoint begins its lane: no call and no note comes before it there. */
  readonly first?: true;
  readonly run: RunRecord;
  /** When the agent's first run was requested, in milliseconds since 1970. */
  readonly createdAt: number;
  /** What the run and the checkpoint do not say about the status. Absent: the agent is no task, and the run began when requested. */
  readonly life?: {
    readonly task?: TaskRecord;
    readonly startedAt?: number;
    readonly since?: number;
    readonly retries?: number;
    readonly failedCalls?: readonly string[];
  };
  readonly nextNumber: number;
  readonly nextLane: number;
  readonly history: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly storage: Readonly<Record<string, StoredValue>>;
  readonly settings?: SettingsRecord;
  readonly requirements?: RequirementsRecord;
  readonly structure?: StructureRecord;
  /** Fingerprints whose structure an earlier record contains. */
  readonly structures: readonly string[];
  readonly decisions: readonly DecisionRecord[];
  /** Finished runs, with the checkpoint at their end. */
  readonly runs: Readonly<Record<string, Place>>;
  /** The cancelled ones among them. */
  readonly cancelled: readonly string[];
  /** Checkpoints that were given an id. */
  readonly named: Readonly<Record<string, Place>>;
  /** Absent: the log was never pruned. */
  readonly pruned?: LastPruning;
}

/** Where a checkpoint is: its version, and the position of its append. */
export type Place = readonly [version: number, position: number];

/** The newest checkpoint at the last pruning, and how many checkpoints it kept. */
export type LastPruning = readonly [version: number, kept: number];
