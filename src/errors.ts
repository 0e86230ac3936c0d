export { AgentPersistenceError } from "./errors/AgentPersistenceError.ts";
export {
  AgentCopiedError,
  AgentMovedError,
  DefaultIdSharedError,
  FeatureNotInstalledError,
  InvalidAgentIdError,
  InvalidInputError,
  UnknownToolError,
  type InputProblem,
} from "./errors/agentErrors.ts";
export {
  CheckpointNotFoundError,
  CheckpointNotPossibleError,
  CheckpointTooLargeError,
  EnvironmentMismatchError,
  NotAnAncestorError,
  ParticipantMissingError,
  RecoveryRefusedError,
  RollbackIncompleteError,
  type LargePart,
  type RedoObstacle,
  type UnresolvedMismatch,
} from "./errors/checkpointErrors.ts";
export { AuthenticationFailedError, KeyMissingError, VaultRequiredError } from "./errors/encryptionErrors.ts";
export { SealBrokenError } from "./errors/sealErrors.ts";
export { SessionConflictError, ThreadChangedError, ToolOutsideThreadError } from "./errors/integrationErrors.ts";
export {
  InvalidModelParametersError,
  ModelAnswerCutError,
  ModelNotAvailableError,
  ModelRequestError,
  ModelTimeoutError,
  ToolSchemaError,
  UnsupportedMessagePartError,
  UnusableModelAnswerError,
} from "./errors/modelErrors.ts";
export { RecordingPrunedError, RunNotFoundError } from "./errors/runErrors.ts";
export {
  ApprovalChangedError,
  RequestNotOpenError,
  RequestRejectedError,
  TimerNotAnswerableError,
  EventKeyUsedError,
  WaitExpiredError,
  WaitingNotSupportedError,
} from "./errors/requestErrors.ts";
export {
  BranchesChangedError,
  ExecutionMovedError,
  ReplayDivergedError,
  RunInputDiffersError,
  RunNotOpenError,
  RunStoppedError,
  RunSuspendedError,
  StatusChangedError,
  StopRequestedError,
  UnfinishedRunError,
} from "./errors/runErrors.ts";
export {
  AgentBusyError,
  AlreadyExistsError,
  BackupBusyError,
  NotSupportedError,
  OwnershipLostError,
  PositionConflictError,
  PruningNotSupportedError,
  StorageClosedError,
  StorageError,
  StorageNotListableError,
  StorageNotReadyError,
  type BusyOwner,
  type StorageFailure,
} from "./errors/storageErrors.ts";
export {
  CorruptBlobError,
  CorruptLogError,
  InvalidArchiveError,
  NotSerializableError,
  UnreadableValueError,
  UnsupportedFormatError,
  UnsupportedRecordError,
  WrongShapeError,
  type LogDamage,
  type LogShapeName,
} from "./errors/storedDataErrors.ts";
export {
  BranchConflictError,
  DuplicateNameError,
  InvalidStrategyError,
  IterationLimitError,
  MigrationFailedError,
  NoMatchingEdgeError,
  StrategyChangedError,
  UnknownNodeError,
} from "./errors/strategyErrors.ts";
export {
  OtherStorageError,
  ScheduleNotFoundError,
  TaskNotFoundError,
  TooManyAttemptsError,
  TransitionNotAllowedError,
} from "./errors/taskErrors.ts";
export { ConformanceError, ScriptEndedError, SimulatedCrashError } from "./errors/testingErrors.ts";
export {
  InverseMissingError,
  ToolCallInDoubtError,
  ToolCallNotInDoubtError,
  ToolFailedError,
  ToolNotStartedError,
  ToolOutcomeUnknownError,
  ToolRejectedError,
  UnansweredToolCallError,
} from "./errors/toolCallErrors.ts";
export {
  FileAccessError,
  FileConflictError,
  FileReservedError,
  GitError,
  PathNotAllowedError,
  ReservationLostError,
  type ConflictingFile,
  type FileHolder,
} from "./errors/workspaceErrors.ts";
