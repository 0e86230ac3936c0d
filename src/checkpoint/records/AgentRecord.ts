import type { PrunedGap } from "./prunedGaps.ts";
import type { CheckpointRecord } from "./CheckpointRecord.ts";
import type { NameRecord } from "./NameRecord.ts";
import type { NoteRecord } from "./NoteRecord.ts";
import type { AnswerRecord, IntentRecord, OutcomeRecord } from "./callRecords.ts";
import type {
  DecisionRecord,
  EditRecord,
  LaneRecord,
  MessageRecord,
  RequirementsRecord,
  SettingsRecord,
  StorageRecord,
  StructureRecord,
} from "./lineRecords.ts";
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

/**
 * Prunes a log. `restated` replaces all records up to a position and contains only the data for kept checkpoints.
 * Readers use it in place of the original appends, even if their bytes still exist. Only the newest such record is
 * valid.
 */
export interface PrunedRecord {
  readonly kind: "pruned";
  readonly upTo: number;
  /** The appends that can be removed, with the checksums on both sides, so that the chain can be verified. */
  readonly gaps: readonly PrunedGap[];
  readonly restated: readonly RestatedEntry[];
  readonly nextNumber: number;
  readonly blobs: readonly string[];
}

/** The kept records of an append, with its original position, generation and checksum. */
export interface RestatedEntry {
  readonly position: number;
  readonly generation: number;
  readonly checksum: string;
  readonly records: readonly AgentRecord[];
}
