import type { StoredValue } from "../values/valueCodec.ts";
import type { CheckpointRecord } from "./CheckpointRecord.ts";
import type { DecisionRecord, RequirementsRecord, SettingsRecord, StructureRecord } from "./lineRecords.ts";
import type { RunRecord, TaskRecord } from "./runRecords.ts";

/** The state at the head, by value, so that reading may begin here. Made only where a visit begins. */
export interface SnapshotRecord {
  readonly kind: "snapshot";
  readonly checkpoint: CheckpointRecord;
  readonly checkpointId: string;
  readonly parent?: number;
  readonly parentId?: string;
  readonly run: RunRecord;
  /** When the agent's first run began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** What the run and the checkpoint do not say of its status. Absent: it began when the run was asked for, as no task. */
  readonly life?: {
    readonly task?: TaskRecord;
    readonly startedAt?: number;
    readonly since?: number;
    readonly retries?: number;
  };
  readonly nextNumber: number;
  readonly nextLane: number;
  readonly history: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly storage: Readonly<Record<string, StoredValue>>;
  readonly settings?: SettingsRecord;
  readonly requirements?: RequirementsRecord;
  readonly structure?: StructureRecord;
  /** Fingerprints whose structure stands somewhere before. */
  readonly structures: readonly string[];
  readonly decisions: readonly DecisionRecord[];
  /** Finished runs, with the version and position of their end. */
  readonly runs: Readonly<Record<string, readonly [version: number, position: number]>>;
  /** Of those, the ones that were cancelled. */
  readonly cancelled: readonly string[];
  /** Checkpoints with a given id, with their version and position. */
  readonly named: Readonly<Record<string, readonly [version: number, position: number]>>;
  /** The latest checkpoint when the log was pruned last, and how many were kept. Absent: it never was. */
  readonly pruned?: readonly [version: number, kept: number];
}

/** The latest checkpoint when a log was pruned, and how many were kept. */
export type LastPruning = readonly [version: number, kept: number];
