import type { ModelUsage } from "../status/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { CheckpointRecord } from "./CheckpointRecord.ts";
import type { LogRecord } from "./Entry.ts";
import type { DecisionRecord, RequirementsRecord, SettingsRecord, StructureRecord } from "./lineRecords.ts";
import type { RunRecord, TaskRecord } from "./runRecords.ts";

/**
 * The state at the head, by value, so that a reader can begin here. Without `since` it is written only where a visit of the
 * main line begins or the run ends, while no other line is open.
 */
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
    /** What lines wait for while the run goes on. */
    readonly requests?: readonly string[];
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
  /** The versions of checkpoints that were given a name later, by that name. Absent: none was. */
  readonly names?: Readonly<Record<string, number>>;
  /** Absent: the log was never pruned. */
  readonly pruned?: LastPruning;
  /**
   * What a reader adds to that state: what was recorded on the main line after the checkpoint, and all of the open nested
   * lines that they need to go on. Each line is restated on one lane, without references to what is before the snapshot.
   */
  readonly since?: readonly SnapshotEntry[];
  /** The main line repeats a visit: the first of `since` is what the visit had recorded before the checkpoint. */
  readonly repeats?: true;
  /** The lanes on which visits began that lines repeat, newest first: ids of calls are bound to them. Absent: there are none. */
  readonly earlier?: readonly { readonly lane: number; readonly lanes: readonly EarlierLane[] }[];
  /** The first version that no checkpoint has. Absent: the one after that of the checkpoint. */
  readonly nextVersion?: number;
  /** Before it is a record after which approvals do not count that were given earlier. */
  readonly asksAgain?: true;
  /** The tokens of all model requests of the run so far. Absent: as the records say. */
  readonly usage?: ModelUsage;
}

/** A lane that leads to another of its line. */
export interface EarlierLane {
  readonly lane: number;
  readonly runId: string;
  /** The agent that began it. Absent: the one that the log is of. */
  readonly owner?: string | undefined;
}

/** Records that a snapshot restates, under the position and the generation of their append. */
export interface SnapshotEntry {
  readonly position: number;
  readonly generation: number;
  readonly records: readonly LogRecord[];
}

/** Where a checkpoint is: its version, and the position of its append. */
export type Place = readonly [version: number, position: number];

/** The newest checkpoint at the last pruning, and how many checkpoints it kept. */
export type LastPruning = readonly [version: number, kept: number];
