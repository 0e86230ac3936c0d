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
import type { PrunedRecord, SnapshotRecord } from "./pruningRecords.ts";
import type { ReplyRecord, RequestRecord } from "./requestRecords.ts";
import type {
  InverseRecord,
  RevertedRecord,
  RollbackEndRecord,
  RollbackRecord,
  RollbackStepRecord,
} from "./rollbackRecords.ts";
import type { RunRecord, StatusRecord, TaskRecord } from "./runRecords.ts";

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
