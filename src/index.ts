export { AIAgent, type AIAgentConfig } from "./agent/AIAgent.ts";
export type {
  AgentContext,
  AgentLlm,
  AgentStorage,
  AgentTools,
  Decision,
  Requirements,
} from "./agent/context/AgentContext.ts";
export type { InputRequest, TimerRequest } from "./agent/context/InputRequest.ts";
export type { BranchOf, MergeContext } from "./agent/context/AgentContext.ts";
export type { RunMoved } from "./agent/strategy/Strategy.ts";
export { storageKey, type StorageKey } from "./agent/context/StorageKey.ts";
export type { AgentFeature } from "./agent/feature/FeaturePipeline.ts";
export type { OnDelta, RunDelta } from "./agent/feature/RunRequest.ts";
export type { ResumeOptions, RunOptions, WhenBusy } from "./agent/feature/RunRequest.ts";
export type {
  BranchEffects,
  PendingApproval,
  PendingEvent,
  PendingTimer,
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
export type { ModelUsage } from "./checkpoint/tokenUsage/ModelUsage.ts";
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
export { type InputProblem, InvalidInputError } from "./errors/agentErrors.ts";
export { RollbackIncompleteError } from "./errors/checkpointErrors.ts";
export { ModelRequestError } from "./errors/modelErrors.ts";
export { RequestNotOpenError, RequestRejectedError } from "./errors/requestErrors.ts";
export { UnfinishedRunError } from "./errors/runErrors.ts";
export {
  AgentBusyError,
  type BusyOwner,
  OwnershipLostError,
  StorageError,
  type StorageFailure,
} from "./errors/storageErrors.ts";
export { NotSerializableError } from "./errors/storedDataErrors.ts";
export { StrategyChangedError } from "./errors/strategyErrors.ts";
export {
  ToolCallInDoubtError,
  ToolFailedError,
  ToolOutcomeUnknownError,
  ToolRejectedError,
} from "./errors/toolCallErrors.ts";
export type { Clock } from "./internal/Clock.ts";
export type { AnswerOptions, DurableAgent } from "./persistence/DurableAgent.ts";
export type { StopOptions, StopResult } from "./persistence/run/cancelRun.ts";
export { Persistence, persistence, withPersistence } from "./persistence/Persistence.ts";
export type {
  AgentFilter,
  PersistenceFeature,
  UnfinishedOptions,
  UnfinishedRun,
} from "./persistence/PersistenceFeature.ts";
export type { RunPersistence } from "./persistence/RunPersistence.ts";
export type { MigrationCheck } from "./persistence/migration/checkMigrations.ts";
export type { MigratedLine, Migration } from "./persistence/versions/Migrations.ts";
export type { PersistenceConfig } from "./persistence/config/PersistenceConfig.ts";
export type { RetentionPolicy } from "./persistence/config/RetentionPolicy.ts";
export type { OlderContent, Summarizer, TrimmingPolicy } from "./persistence/config/PersistenceConfig.ts";
export type { OnToolCallInDoubt, ToolCallInDoubt, ToolCallSettlement } from "./doubt/ToolCallInDoubt.ts";
export type { Environment, EnvironmentAnswer } from "./environment/EnvironmentMismatch.ts";
export type { EnvironmentMismatch } from "./environment/EnvironmentMismatch.ts";
export type { PersistenceEvent, PersistenceListener, ListenerErrorHandler } from "./listeners/PersistenceEvent.ts";
export { printEvents } from "./listeners/printEvents.ts";
export type { AgentRequest, RequestFilter } from "./persistence/waiting/listRequests.ts";
export type { InverseRetry } from "./persistence/inverses/RollbackToolRegistry.ts";
export { RollbackToolRegistry } from "./persistence/inverses/RollbackToolRegistry.ts";
export type { Inverse, InverseFunction, RolledBackCall } from "./persistence/inverses/RollbackToolRegistry.ts";
export type { CheckpointValidation, ValidationCheck } from "./environment/CheckpointValidation.ts";
export type { CreateCheckpointOptions } from "./persistence/saving/CreateCheckpointOptions.ts";
export type { PrunedAgent } from "./persistence/retention/planPruning.ts";
export type { PruneOptions, PruneReport } from "./persistence/retention/pruneStorage.ts";
export type { RollbackOptions } from "./persistence/rollback/RollbackReport.ts";
export type { RollbackReport } from "./persistence/rollback/RollbackReport.ts";
export type { EditedCheckpoint, EditOptions } from "./persistence/edit/editCheckpoint.ts";
export type { RestartOptions } from "./persistence/rollback/restart.ts";
export type {
  CheckpointTrigger,
  SinceCheckpoint,
  TriggerMoment,
  TriggerPriority,
} from "./persistence/config/triggers.ts";
export { triggers } from "./persistence/config/triggers.ts";
export type { CheckpointFilter, PersistenceStorageProvider } from "./storage/PersistenceStorageProvider.ts";
export { InMemoryPersistenceStorageProvider } from "./storage/memory/MemoryRecordLog.ts";
export { NoPersistenceStorageProvider } from "./storage/none/NoPersistenceStorageProvider.ts";
export type { Telemetry } from "./telemetry/Telemetry.ts";
