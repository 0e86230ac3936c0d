export { AIAgent, type AIAgentConfig } from "./agent/AIAgent.ts";
export type {
  AgentContext,
  AgentLlm,
  AgentStorage,
  AgentTools,
  Decision,
  Requirements,
} from "./agent/context/AgentContext.ts";
export type { InputRequest } from "./agent/context/InputRequest.ts";
export type { BranchOf, MergeContext } from "./agent/context/MergeContext.ts";
export type { RunMoved } from "./agent/context/RunMoved.ts";
export { storageKey, type StorageKey } from "./agent/context/StorageKey.ts";
export type { AgentFeature } from "./agent/feature/FeaturePipeline.ts";
export type { OnDelta, RunDelta } from "./agent/feature/RunDelta.ts";
export type { ResumeOptions, RunOptions, WhenBusy } from "./agent/feature/RunRequest.ts";
export type {
  BranchEffects,
  PendingApproval,
  PendingInput,
  PendingRequest,
  RevertibleCall,
  RunResult,
} from "./agent/feature/RunResult.ts";
export type { ModelRetry } from "./agent/model/ModelRetry.ts";
export type { ModelDelta, PromptAnswer, PromptExecutor, PromptRequest } from "./agent/model/PromptExecutor.ts";
export { callModel, callTools, hasToolCalls, textOf } from "./agent/model/nodes.ts";
export { strategy } from "./agent/strategy/Strategy.ts";
export type {
  EachOptions,
  Graph,
  InputOf,
  Node,
  NodeOptions,
  OutputOf,
  ParallelOptions,
  Strategy,
  StrategyVersion,
} from "./agent/strategy/Strategy.ts";
export {
  type AnyTool,
  type ApprovalVerdict,
  tool,
  type Tool,
  type ToolApprovalOptions,
  type ToolCallOptions,
  type ToolEffect,
  type ToolProbeAnswer,
  type ToolProbeOptions,
} from "./agent/tool/Tool.ts";
export type { ModelUsage } from "./checkpoint/status/ModelUsage.ts";
export type {
  AgentCheckpointData,
  CheckpointBranch,
  CheckpointDecision,
  CheckpointToolCall,
} from "./checkpoint/data/AgentCheckpointData.ts";
export type { CheckpointTreeNode } from "./checkpoint/data/checkpointTree.ts";
export type { FileChange, FileChanges, FileState } from "./checkpoint/data/FileChange.ts";
export type {
  AssistantMessage,
  ContentPart,
  Message,
  ProviderOptions,
  ToolMessage,
} from "./checkpoint/messages/Message.ts";
export type { TaskStatus, WaitingFor } from "./checkpoint/status/TaskStatus.ts";
export { registerClass, type StorableClass } from "./checkpoint/values/classRegistry.ts";
export { AgentPersistenceError } from "./errors/AgentPersistenceError.ts";
export { DefaultIdSharedError } from "./errors/agent/DefaultIdSharedError.ts";
export { AgentCopiedError } from "./errors/agent/AgentCopiedError.ts";
export { AgentMovedError } from "./errors/agent/AgentMovedError.ts";
export { BranchConflictError } from "./errors/agent/BranchConflictError.ts";
export { DuplicateNameError } from "./errors/agent/DuplicateNameError.ts";
export { ExecutionMovedError } from "./errors/agent/ExecutionMovedError.ts";
export { FeatureNotInstalledError } from "./errors/agent/FeatureNotInstalledError.ts";
export { InvalidAgentIdError } from "./errors/agent/InvalidAgentIdError.ts";
export { type InputProblem, InvalidInputError } from "./errors/agent/InvalidInputError.ts";
export { InvalidStrategyError } from "./errors/agent/InvalidStrategyError.ts";
export { IterationLimitError } from "./errors/agent/IterationLimitError.ts";
export { UnansweredToolCallError } from "./errors/toolCall/UnansweredToolCallError.ts";
export { NoMatchingEdgeError } from "./errors/agent/NoMatchingEdgeError.ts";
export { MigrationFailedError } from "./errors/agent/MigrationFailedError.ts";
export { StrategyChangedError } from "./errors/agent/StrategyChangedError.ts";
export { UnknownNodeError } from "./errors/agent/UnknownNodeError.ts";
export { UnknownToolError } from "./errors/agent/UnknownToolError.ts";
export { CheckpointNotFoundError } from "./errors/checkpoint/CheckpointNotFoundError.ts";
export { CheckpointNotPossibleError } from "./errors/checkpoint/CheckpointNotPossibleError.ts";
export { CheckpointTooLargeError, type LargePart } from "./errors/checkpoint/CheckpointTooLargeError.ts";
export { EnvironmentMismatchError, type UnresolvedMismatch } from "./errors/checkpoint/EnvironmentMismatchError.ts";
export { NotAnAncestorError } from "./errors/checkpoint/NotAnAncestorError.ts";
export { ParticipantMissingError } from "./errors/checkpoint/ParticipantMissingError.ts";
export { RollbackIncompleteError } from "./errors/checkpoint/RollbackIncompleteError.ts";
export { ModelAnswerCutError } from "./errors/model/ModelAnswerCutError.ts";
export { ModelRequestError } from "./errors/model/ModelRequestError.ts";
export { ModelTimeoutError } from "./errors/model/ModelTimeoutError.ts";
export { ApprovalChangedError } from "./errors/request/ApprovalChangedError.ts";
export { RequestNotOpenError } from "./errors/request/RequestNotOpenError.ts";
export { RequestRejectedError } from "./errors/request/RequestRejectedError.ts";
export { WaitExpiredError } from "./errors/request/WaitExpiredError.ts";
export { WaitingNotSupportedError } from "./errors/request/WaitingNotSupportedError.ts";
export { RunInputDiffersError } from "./errors/run/RunInputDiffersError.ts";
export { RunNotOpenError } from "./errors/run/RunNotOpenError.ts";
export { BranchesChangedError } from "./errors/run/BranchesChangedError.ts";
export { ReplayDivergedError } from "./errors/run/ReplayDivergedError.ts";
export { StatusChangedError } from "./errors/run/StatusChangedError.ts";
export { UnfinishedRunError } from "./errors/run/UnfinishedRunError.ts";
export { AgentBusyError, type BusyOwner } from "./errors/storage/AgentBusyError.ts";
export { AlreadyExistsError } from "./errors/storage/AlreadyExistsError.ts";
export { CorruptBlobError } from "./errors/storage/CorruptBlobError.ts";
export { CorruptLogError, type LogDamage } from "./errors/storage/CorruptLogError.ts";
export { NotSerializableError } from "./errors/storage/NotSerializableError.ts";
export { InvalidArchiveError } from "./errors/storage/InvalidArchiveError.ts";
export { NotSupportedError } from "./errors/storage/NotSupportedError.ts";
export { OwnershipLostError } from "./errors/storage/OwnershipLostError.ts";
export { PruningNotSupportedError } from "./errors/storage/PruningNotSupportedError.ts";
export { StorageError, type StorageFailure } from "./errors/storage/StorageError.ts";
export { StorageNotListableError } from "./errors/storage/StorageNotListableError.ts";
export { UnreadableValueError } from "./errors/storage/UnreadableValueError.ts";
export { UnsupportedFormatError } from "./errors/storage/UnsupportedFormatError.ts";
export { UnsupportedRecordError } from "./errors/storage/UnsupportedRecordError.ts";
export { type LogShapeName, WrongShapeError } from "./errors/storage/WrongShapeError.ts";
export { InverseMissingError } from "./errors/toolCall/InverseMissingError.ts";
export { ToolCallInDoubtError } from "./errors/toolCall/ToolCallInDoubtError.ts";
export { ToolCallNotInDoubtError } from "./errors/toolCall/ToolCallNotInDoubtError.ts";
export { ToolFailedError } from "./errors/toolCall/ToolFailedError.ts";
export { ToolOutcomeUnknownError } from "./errors/toolCall/ToolOutcomeUnknownError.ts";
export { ToolRejectedError } from "./errors/toolCall/ToolRejectedError.ts";
export type { Clock } from "./internal/Clock.ts";
export type { AnswerOptions, DurableAgent } from "./persistence/DurableAgent.ts";
export { Persistence, persistence, withPersistence } from "./persistence/Persistence.ts";
export type {
  AgentFilter,
  PersistenceFeature,
  UnfinishedOptions,
  UnfinishedRun,
} from "./persistence/PersistenceFeature.ts";
export type { RunPersistence } from "./persistence/RunPersistence.ts";
export type { MigrationCheck } from "./persistence/migration/checkMigrations.ts";
export type { MigratedLine, Migration } from "./persistence/versions/Migration.ts";
export type { PersistenceConfig } from "./persistence/config/PersistenceConfig.ts";
export type { RetentionPolicy } from "./persistence/config/RetentionPolicy.ts";
export type { OlderContent, Summarizer, TrimmingPolicy } from "./persistence/config/TrimmingPolicy.ts";
export type { OnToolCallInDoubt, ToolCallInDoubt, ToolCallSettlement } from "./doubt/ToolCallInDoubt.ts";
export type { Environment, EnvironmentAnswer } from "./environment/Environment.ts";
export type { EnvironmentMismatch } from "./environment/EnvironmentMismatch.ts";
export type { PersistenceEvent, PersistenceListener, ListenerErrorHandler } from "./events/PersistenceEvent.ts";
export { printEvents } from "./events/printEvents.ts";
export type { AgentRequest, RequestFilter } from "./persistence/waiting/listRequests.ts";
export type { InverseRetry } from "./persistence/inverse/InverseRetry.ts";
export { RollbackToolRegistry } from "./persistence/inverse/RollbackToolRegistry.ts";
export type { Inverse, InverseFunction, RolledBackCall } from "./persistence/inverse/RollbackToolRegistry.ts";
export type { CheckpointValidation, ValidationCheck } from "./environment/CheckpointValidation.ts";
export type { CreateCheckpointOptions } from "./persistence/record/CreateCheckpointOptions.ts";
export type { PrunedAgent } from "./persistence/retention/planPruning.ts";
export type { PruneOptions, PruneReport } from "./persistence/retention/prune.ts";
export type { RollbackOptions } from "./persistence/rollback/historyOnly.ts";
export type { RollbackReport } from "./persistence/rollback/RollbackReport.ts";
export type { EditedCheckpoint, EditOptions } from "./persistence/edit/EditOptions.ts";
export type { RestartOptions } from "./persistence/rollback/restart.ts";
export type {
  CheckpointTrigger,
  SinceCheckpoint,
  TriggerMoment,
  TriggerPriority,
} from "./persistence/triggers/CheckpointTrigger.ts";
export { triggers } from "./persistence/triggers/triggers.ts";
export type { CheckpointFilter, PersistenceStorageProvider } from "./storage/PersistenceStorageProvider.ts";
export { InMemoryPersistenceStorageProvider } from "./storage/memory/InMemoryPersistenceStorageProvider.ts";
export { NoPersistenceStorageProvider } from "./storage/none/NoPersistenceStorageProvider.ts";
export type { Telemetry } from "./telemetry/Telemetry.ts";
export { exportAgent, type ExportOptions } from "./transfer/exportAgent.ts";
export { cancelMove, finishMove } from "./transfer/finishMove.ts";
export { importAgent, type ImportOptions, type ImportReport } from "./transfer/importAgent.ts";
export type { MoveReceipt } from "./transfer/MoveReceipt.ts";
