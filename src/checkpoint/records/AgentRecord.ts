import type { PrunedGap } from "./Entry.ts";
import type {
  DecisionRecord,
  EditRecord,
  LaneRecord,
  MessageRecord,
  RequirementsRecord,
  SettingsRecord,
  StorageRecord,
  StructureRecord,
  CheckpointRecord,
} from "./lineRecords.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "./callRecords.ts";
import type { ReplyRecord, RequestRecord } from "./requestRecords.ts";
import type {
  InverseRecord,
  RevertedRecord,
  RollbackEndRecord,
  RollbackRecord,
  RollbackStepRecord,
} from "./rollbackRecords.ts";
import type { CustodyRecord, EndedRecord, OriginRecord, RunRecord, StatusRecord, TaskRecord } from "./runRecords.ts";
import type { SnapshotRecord } from "./SnapshotRecord.ts";
import { refersToLane, type StoredValue } from "../values/valueCodec.ts";
import type { Pack } from "../values/BlobCell.ts";

export type AgentRecord =
  | TaskRecord
  | RunRecord
  | LaneRecord
  | MessageRecord
  | EditRecord
  | StorageRecord
  | SettingsRecord
  | RequirementsRecord
  | DecisionRecord
  | StructureRecord
  | AnswerRecord
  | IntentRecord
  | OutcomeRecord
  | NoteRecord
  | CheckpointRecord
  | NameRecord
  | RequestRecord
  | ReplyRecord
  | StatusRecord
  | EndedRecord
  | RollbackRecord
  | RollbackStepRecord
  | InverseRecord
  | RevertedRecord
  | RollbackEndRecord
  | OriginRecord
  | CustodyRecord
  | PrunedRecord
  | SnapshotRecord;

/** Prunes a log. `restated` replaces all records up to `upTo`. Only the newest record of this kind counts. */
export interface PrunedRecord {
  readonly kind: "pruned";
  readonly upTo: number;
  /** The appends that can be removed, with the checksums of the appends around them. */
  readonly gaps: readonly PrunedGap[];
  readonly restated: readonly RestatedEntry[];
  readonly nextNumber: number;
  readonly blobs: readonly string[];
}

/** The remaining records of an append, with its original position, generation and checksum. */
export interface RestatedEntry {
  readonly position: number;
  readonly generation: number;
  readonly checksum: string;
  readonly records: readonly AgentRecord[];
}

/** Gives a checkpoint a name, which any other checkpoint loses. Without `version`, only removes the name. */
export interface NameRecord {
  readonly kind: "name";
  readonly name: string;
  readonly version?: number;
}

const kindsOfState: ReadonlySet<string> = new Set([
  "message",
  "edit",
  "storage",
  "settings",
  "requirements",
  "decision",
]);

export function isOfState({ kind }: AgentRecord): boolean {
  return kindsOfState.has(kind);
}

export function isMerged(record: AgentRecord): boolean {
  if (record.kind === "message") return refersToLane(record.message);
  return record.kind === "edit" && record.insert.some(({ message }) => refersToLane(message));
}

/**
 * Returns whether a later record still belongs to a finished rollback, because it retries or settles a failed step, gives
 * a name, or shows that the agent continues with other code. `closed` contains the calls after the target.
 */
export function isOfRollback(record: AgentRecord, { target }: RollbackEndRecord, closed: ReadonlySet<string>): boolean {
  switch (record.kind) {
    case "rollback":
      return record.target === target;
    case "intent":
    case "outcome":
      return closed.has(record.call);
    default:
      return ["status", "name", "structure", "rollback_step", "inverse", "reverted"].includes(record.kind);
  }
}

/** A value that a feature stores, such as the files that a tool changed. Kept while a rollback can need the value. */
export interface NoteRecord {
  readonly kind: "note";
  readonly lane: number;
  readonly key: string;
  readonly call?: string;
  readonly value: StoredValue;
  readonly packs?: readonly Pack[];
}

export interface NotePoint {
  readonly record: NoteRecord;
  readonly order: number;
}
