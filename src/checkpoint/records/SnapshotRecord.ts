import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type {
  DecisionRecord,
  RequirementsRecord,
  SettingsRecord,
  StructureRecord,
  CheckpointRecord,
} from "./lineRecords.ts";
import type { LogRecord } from "./Entry.ts";
import type { RunRecord, TaskRecord } from "./runRecords.ts";

/** The state at the head, complete enough to start reading here. `since` contains open branches and sub-agents. */
export interface SnapshotRecord {
  readonly kind: "snapshot";
  readonly checkpoint: CheckpointRecord;
  readonly checkpointId: string;
  readonly parent?: number;
  readonly parentId?: string;
  /** True if the checkpoint is the first record of its lane. */
  readonly first?: true;
  readonly run: RunRecord;
  /** When the first run of the agent was requested, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Status data that neither `run` nor `checkpoint` contains. Omitted if the run started when it was requested. */
  readonly life?: {
    readonly task?: TaskRecord;
    readonly startedAt?: number;
    readonly since?: number;
    readonly retries?: number;
    readonly failedCalls?: readonly string[];
    readonly requests?: readonly string[];
  };
  readonly nextNumber: number;
  readonly nextLane: number;
  readonly history: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly storage: Readonly<Record<string, StoredValue>>;
  readonly settings?: SettingsRecord;
  readonly requirements?: RequirementsRecord;
  readonly structure?: StructureRecord;
  /** The fingerprints of the structures that earlier records contain. */
  readonly structures: readonly string[];
  readonly decisions: readonly DecisionRecord[];
  readonly runs: Readonly<Record<string, CheckpointPosition>>;
  readonly cancelled: readonly string[];
  readonly named: Readonly<Record<string, CheckpointPosition>>;
  readonly names?: Readonly<Record<string, number>>;
  readonly pruned?: LastPruning;
  /** The records after the checkpoint, and the records that repeat each open branch and sub-agent. */
  readonly since?: readonly SnapshotEntry[];
  /** True if the run repeats a node execution, and `since` starts with the records of the earlier attempt. */
  readonly repeats?: true;
  /** The lanes of earlier attempts of repeated nodes, newest first. The ids of calls derive from these lanes. */
  readonly earlier?: readonly { readonly lane: number; readonly lanes: readonly EarlierLane[] }[];
  /** The lowest unused version. Defaults to the version after the checkpoint. */
  readonly nextVersion?: number;
  /** True if an earlier record made all previous approvals invalid. */
  readonly asksAgain?: true;
  /** The tokens of all model requests of the run so far. Defaults to the sum over the records. */
  readonly usage?: ModelUsage;
}

export interface EarlierLane {
  readonly lane: number;
  readonly runId: string;
  /** The agent that started the lane. Defaults to the agent of the log. */
  readonly owner?: string | undefined;
}

export interface SnapshotEntry {
  readonly position: number;
  readonly generation: number;
  readonly records: readonly LogRecord[];
}

export type CheckpointPosition = readonly [version: number, position: number];

export type LastPruning = readonly [version: number, kept: number];

export interface FinishedRun {
  readonly run: string;
  readonly place: CheckpointPosition;
  readonly isCancelled: boolean;
}
