import type { PrunedGap } from "./prunedGaps.ts";
import type { CheckpointRecord } from "./CheckpointRecord.ts";
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
import type { RunRecord, StatusRecord, TaskRecord } from "./runRecords.ts";
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
  | RequestRecord
  | ReplyRecord
  | StatusRecord
  | RollbackRecord
  | RollbackStepRecord
  | InverseRecord
  | RevertedRecord
  | RollbackEndRecord
  | PrunedRecord
  | SnapshotRecord;

/**
 * Everything up to a position is from here on what `restated` says: only what kept checkpoints need. Readers take that in
 * place of what stands there, whether or not its bytes are gone; of several of these the newest counts.
 */
export interface PrunedRecord {
  readonly kind: "pruned";
  readonly upTo: number;
  /** What may be removed, with the checksums on both sides, so that the chain stays whole. */
  readonly gaps: readonly PrunedGap[];
  readonly restated: readonly RestatedEntry[];
  /** The first number that no message had. */
  readonly nextNumber: number;
  /** Blobs that nothing refers to any more. */
  readonly blobs: readonly string[];
}

/** What is kept of an append, under its own position, generation and checksum. */
export interface RestatedEntry {
  readonly position: number;
  readonly generation: number;
  readonly checksum: string;
  readonly records: readonly AgentRecord[];
}
