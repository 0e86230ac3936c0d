export type { Sha256 } from "./internal/Sha256.ts";
export type { StrategyGraph } from "./agent/strategy/StrategyGraph.ts";
export type { RecordedRequirements } from "./agent/state/RecordedRequirements.ts";
export type { RunState } from "./agent/state/RunState.ts";
export type { RunLine } from "./checkpoint/toolCallId.ts";
export { AIAgent } from "./agent/AIAgent.ts";
export type { AIAgentConfig } from "./agent/AIAgentConfig.ts";
export type { AbortGrace } from "./agent/feature/AbortGrace.ts";
export type {
  AgentContext,
  AgentLlm,
  AgentStorage,
  AgentTools,
  Decision,
  Requirements,
} from "./agent/context/AgentContext.ts";
export type { AgentFeature } from "./agent/feature/AgentFeature.ts";
export type { AgentRun, InterruptOptions } from "./agent/feature/AgentRun.ts";
export { callModel } from "./agent/model/callModel.ts";
export { callTools } from "./agent/model/callTools.ts";
export { callOf, nodeInputOf, runOf, visitOf } from "./agent/feature/ContextBinding.ts";
export type { Around, ClaimableOption, FeaturePipeline, Listener } from "./agent/feature/FeaturePipeline.ts";
export type { Graph, NodeOptions } from "./agent/strategy/Graph.ts";
export type { EdgeStructure, GraphStructure, NodeStructure } from "./agent/strategy/GraphStructure.ts";
export { hasToolCalls } from "./agent/model/hasToolCalls.ts";
export type { InputRequest } from "./agent/context/InputRequest.ts";
export type { Crossing, NextStep } from "./agent/strategy/NextStep.ts";
export type { InputOf, Node, OutputOf } from "./agent/strategy/Node.ts";
export type { NodeVisit } from "./agent/feature/NodeVisit.ts";
export type {
  CallOrigin,
  InputRequestEvent,
  ModelRequestEvent,
  NodeEvent,
  PipelineEvents,
  ToolCallEvent,
} from "./agent/feature/PipelineEvents.ts";
export type { PromptAnswer, PromptExecutor, PromptRequest } from "./agent/model/PromptExecutor.ts";
export { runMoved, type RunMoved } from "./agent/context/RunMoved.ts";
export type { ResumeOptions, RunOptions, RunRequest } from "./agent/feature/RunRequest.ts";
export type {
  BranchEffects,
  PendingApproval,
  PendingInput,
  PendingRequest,
  RevertibleCall,
  RunResult,
} from "./agent/feature/RunResult.ts";
export type { RunSettings } from "./agent/state/RunSettings.ts";
export type { RunStart } from "./agent/feature/RunStart.ts";
export type { RunStateSeed } from "./agent/state/RunStateSeed.ts";
export { storageKey, type StorageKey } from "./agent/context/StorageKey.ts";
export { strategy, type Strategy } from "./agent/strategy/Strategy.ts";
export { textOf } from "./agent/model/textOf.ts";
export {
  tool,
  type AnyTool,
  type Tool,
  type ToolCallOptions,
  type ToolEffect,
  type ToolProbeAnswer,
  type ToolProbeOptions,
} from "./agent/tool/Tool.ts";
export type {
  AgentCheckpointData,
  CheckpointBranch,
  CheckpointDecision,
  CheckpointToolCall,
} from "./checkpoint/data/AgentCheckpointData.ts";
export type { FileChange, FileChanges, FileState } from "./checkpoint/data/FileChange.ts";
export { formatVersion } from "./checkpoint/format/formatVersion.ts";
export type { TaskStatus } from "./checkpoint/status/TaskStatus.ts";
export type { WaitingFor } from "./checkpoint/status/WaitingFor.ts";
export { registerClass, type StorableClass } from "./checkpoint/values/classRegistry.ts";
export type { Entry, LogRecord } from "./checkpoint/format/Entry.ts";
export type {
  AssistantMessage,
  ContentPart,
  Message,
  ProviderOptions,
  ToolMessage,
} from "./checkpoint/messages/Message.ts";
export type { Clock } from "./internal/Clock.ts";
export type {
  DescribedStep,
  Note,
  ParticipantHost,
  ParticipantPlan,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "./journal/RollbackParticipant.ts";
export type { ParticipantReport } from "./persistence/rollback/applyParticipants.ts";
export type { Environment, EnvironmentAnswer } from "./persistence/environment/Environment.ts";
export type { EnvironmentMismatch } from "./persistence/environment/EnvironmentMismatch.ts";
export type { CheckpointValidation, ValidationCheck } from "./persistence/read/CheckpointValidation.ts";
export type { InverseRetry } from "./persistence/inverse/InverseRetry.ts";
export type { DurableAgent } from "./persistence/DurableAgent.ts";
export { Persistence, persistence, withPersistence } from "./persistence/Persistence.ts";
export type {
  CheckpointRestoredEvent,
  CheckpointSavedEvent,
  CheckpointSkippedEvent,
  EventCheckpoint,
  EventOrigin,
  PersistenceEvent,
  PersistenceListener,
  HistoryTrimmedEvent,
  LogTornTailEvent,
  RecoveryNoticeEvent,
  RecoveryStepEvent,
  RecoveryStepName,
  UntimedEvent,
  StatusChangedEvent,
  TriggerFailedEvent,
  TrimmingFailedEvent,
  CheckpointPrunedEvent,
  PruningFailedEvent,
} from "./persistence/events/PersistenceEvent.ts";
export type { ListenerErrorHandler } from "./persistence/events/tellListener.ts";
export { printEvents } from "./persistence/events/printEvents.ts";
export type { PrunedAgent } from "./persistence/retention/planPruning.ts";
export type { PruneOptions, PruneReport } from "./persistence/retention/prune.ts";
export type { RetentionPolicy } from "./persistence/config/RetentionPolicy.ts";
export type {
  CheckpointTrigger,
  SinceCheckpoint,
  TriggerMoment,
  TriggerPriority,
} from "./persistence/triggers/CheckpointTrigger.ts";
export {
  afterAgentCompletion,
  afterFileModification,
  afterNode,
  afterUserInteraction,
  beforeDangerousOperation,
  beforeExternalApiCall,
  contextDelta,
  interval,
} from "./persistence/triggers/checkpointTriggers.ts";
export type { PersistenceConfig } from "./persistence/config/PersistenceConfig.ts";
export type { OlderContent, Summariser, TrimmingPolicy } from "./persistence/config/TrimmingPolicy.ts";
export type {
  AgentFilter,
  PersistenceFeature,
  UnfinishedOptions,
  UnfinishedRun,
} from "./persistence/PersistenceFeature.ts";
export type { RestartOptions } from "./persistence/rollback/restart.ts";
export type { RollbackReport } from "./persistence/rollback/RollbackReport.ts";
export {
  RollbackToolRegistry,
  type Inverse,
  type InverseFunction,
  type RolledBackCall,
} from "./persistence/inverse/RollbackToolRegistry.ts";
export type {
  CreateCheckpointOptions,
  NewNote,
  RollbackOptions,
  RunPersistence,
} from "./persistence/RunPersistence.ts";
export type { OnToolCallInDoubt, ToolCallInDoubt } from "./persistence/doubt/ToolCallInDoubt.ts";
export type { ToolCallSettlement } from "./persistence/doubt/ToolCallSettlement.ts";
export type { BlobStore } from "./storage/BlobStore.ts";
export { LogPersistenceStorageProvider, type LogProviderOptions } from "./storage/LogPersistenceStorageProvider.ts";
export { InMemoryPersistenceStorageProvider } from "./storage/memory/InMemoryPersistenceStorageProvider.ts";
export { NoPersistenceStorageProvider } from "./storage/none/NoPersistenceStorageProvider.ts";
export {
  filterCheckpoints,
  type CheckpointFilter,
  type PersistenceStorageProvider,
} from "./storage/PersistenceStorageProvider.ts";
export type {
  AgentSummary,
  LogAppend,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  OwnerState,
  ReadOptions,
  RecordLog,
  TornTail,
} from "./storage/RecordLog.ts";
export { AgentExistsError } from "./errors/AgentExistsError.ts";
export { AgentBusyError, type BusyOwner } from "./errors/AgentBusyError.ts";
export { AgentPersistenceError } from "./errors/AgentPersistenceError.ts";
export { CheckpointExistsError } from "./errors/CheckpointExistsError.ts";
export { CheckpointNotFoundError } from "./errors/CheckpointNotFoundError.ts";
export { CheckpointNotPossibleError } from "./errors/CheckpointNotPossibleError.ts";
export { CheckpointTooLargeError, type LargePart } from "./errors/CheckpointTooLargeError.ts";
export { CorruptBlobError } from "./errors/CorruptBlobError.ts";
export { CorruptLogError, type LogDamage } from "./errors/CorruptLogError.ts";
export { DuplicateFeatureError } from "./errors/DuplicateFeatureError.ts";
export { DuplicateNodeError } from "./errors/DuplicateNodeError.ts";
export { DuplicateToolError } from "./errors/DuplicateToolError.ts";
export { EnvironmentMismatchError, type UnsettledMismatch } from "./errors/EnvironmentMismatchError.ts";
export { RecoveryRefusedError } from "./errors/RecoveryRefusedError.ts";
export { ExecutionMovedError } from "./errors/ExecutionMovedError.ts";
export { DuplicateRequestError } from "./errors/DuplicateRequestError.ts";
export { FeatureNotInstalledError } from "./errors/FeatureNotInstalledError.ts";
export { InvalidAgentIdError } from "./errors/InvalidAgentIdError.ts";
export { InvalidInputError, type InputProblem } from "./errors/InvalidInputError.ts";
export { InvalidStrategyError } from "./errors/InvalidStrategyError.ts";
export { InverseMissingError } from "./errors/InverseMissingError.ts";
export { IterationLimitError } from "./errors/IterationLimitError.ts";
export { NoMatchingEdgeError } from "./errors/NoMatchingEdgeError.ts";
export { NotAnAncestorError } from "./errors/NotAnAncestorError.ts";
export { NotSerializableError } from "./errors/NotSerializableError.ts";
export { NothingToCancelError } from "./errors/NothingToCancelError.ts";
export { NothingToResumeError } from "./errors/NothingToResumeError.ts";
export { OwnershipLostError } from "./errors/OwnershipLostError.ts";
export { ParticipantMissingError } from "./errors/ParticipantMissingError.ts";
export { PositionConflictError } from "./errors/PositionConflictError.ts";
export { PruningNotSupportedError } from "./errors/PruningNotSupportedError.ts";
export { ReplayDivergedError } from "./errors/ReplayDivergedError.ts";
export { RequestAnsweredError } from "./errors/RequestAnsweredError.ts";
export { RequestExpiredError } from "./errors/RequestExpiredError.ts";
export { RequestNotFoundError } from "./errors/RequestNotFoundError.ts";
export { RollbackIncompleteError } from "./errors/RollbackIncompleteError.ts";
export { RunSuspendedError } from "./errors/RunSuspendedError.ts";
export { StatusChangedError } from "./errors/StatusChangedError.ts";
export { StopRequestedError } from "./errors/StopRequestedError.ts";
export { StorageClosedError } from "./errors/StorageClosedError.ts";
export { StorageNotListableError } from "./errors/StorageNotListableError.ts";
export { StorageError, type StorageFailure } from "./errors/StorageError.ts";
export { StrategyChangedError } from "./errors/StrategyChangedError.ts";
export { TaskExistsError } from "./errors/TaskExistsError.ts";
export { TaskNotFoundError } from "./errors/TaskNotFoundError.ts";
export { ToolCallInDoubtError } from "./errors/ToolCallInDoubtError.ts";
export { ToolCallNotInDoubtError } from "./errors/ToolCallNotInDoubtError.ts";
export { ToolFailedError } from "./errors/ToolFailedError.ts";
export { ToolNotStartedError } from "./errors/ToolNotStartedError.ts";
export { TransitionNotAllowedError } from "./errors/TransitionNotAllowedError.ts";
export { ToolOutcomeUnknownError } from "./errors/ToolOutcomeUnknownError.ts";
export { UnfinishedRunError } from "./errors/UnfinishedRunError.ts";
export { UnknownNodeError } from "./errors/UnknownNodeError.ts";
export { UnknownToolError } from "./errors/UnknownToolError.ts";
export { UnreadableValueError } from "./errors/UnreadableValueError.ts";
export { UnsupportedFormatError } from "./errors/UnsupportedFormatError.ts";
export { WaitingNotSupportedError } from "./errors/WaitingNotSupportedError.ts";
export { WaitExpiredError } from "./errors/WaitExpiredError.ts";
