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

/** Every kind of record that a log holds. */
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
 * `restated` replaces everything up to a position, with only what kept checkpoints need. Readers use it instead of the
 * original appends, even if their bytes are still there. Only the newest such record of a log is valid.
 */
export interface PrunedRecord {
  readonly kind: "pruned";
  readonly upTo: number;
  /** What may be removed, with the checksums on both sides, so that the chain stays whole. */
  readonly gaps: readonly PrunedGap[];
  readonly restated: readonly RestatedEntry[];
  /** The first message number that was never used. */
  readonly nextNumber: number;
  /** Blobs that nothing refers to any more. */
  readonly blobs: readonly string[];
}

/** The kept records of an append, under its own position, generation and checksum. */
export interface RestatedEntry {
  readonly position: number;
  readonly generation: number;
  readonly checksum: string;
  readonly records: readonly AgentRecord[];
}
