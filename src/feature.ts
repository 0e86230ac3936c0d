export { runMoved } from "./agent/strategy/Strategy.ts";
export type {
  AbortGrace,
  AgentFeature,
  Around,
  ClaimableOption,
  FeaturePipeline,
  Listener,
  PipelineInterceptors,
} from "./agent/feature/FeaturePipeline.ts";
export type { AgentRun, InterruptOptions, MoveOptions } from "./agent/feature/AgentRun.ts";
export { callOf, nodeInputOf, runOf, visitOf } from "./agent/feature/ContextBinding.ts";
export type {
  ApprovalEvent,
  TimerEvent,
  CallOrigin,
  InputRequestEvent,
  ModelRequestEvent,
  NodeEvent,
  NodeVisit,
  PipelineEvents,
  ToolCallEvent,
} from "./agent/feature/PipelineEvents.ts";
export type { RunRequest, RunStart } from "./agent/feature/RunRequest.ts";
export type { RecordedRequirements, RunSettings, RunState, RunStateSeed } from "./agent/state/RunState.ts";
export type {
  BranchesStructure,
  EdgeStructure,
  GraphStructure,
  NodeStructure,
  ParallelStructure,
} from "./agent/strategy/GraphStructure.ts";
export type { Crossing, NextStep, StrategyGraph } from "./agent/strategy/StrategyGraph.ts";
export type { RunLine } from "./checkpoint/ids/toolCallId.ts";
export { RunSuspendedError, StopRequestedError } from "./errors/runErrors.ts";
export { ToolNotStartedError } from "./errors/toolCallErrors.ts";
export type { Clock } from "./internal/Clock.ts";
export type {
  ChangedFile,
  Comparison,
  ComparisonRequest,
  DescribedStep,
  Note,
  ParticipantContext,
  ParticipantPlan,
  ParticipantRequest,
  RollbackParticipant,
  StepRequest,
} from "./journal/RollbackParticipant.ts";
export type { ConfiguredParticipant } from "./persistence/config/PersistenceConfig.ts";
export type { NewNote } from "./persistence/saving/noteRecord.ts";
export type { ParticipantReport } from "./persistence/rollback/RollbackReport.ts";
export { Telemetry } from "./telemetry/Telemetry.ts";
export type {
  TelemetryContent,
  TelemetryFacts,
  TelemetryFailure,
  TelemetryKind,
  TelemetryOperation,
  TelemetrySpan,
} from "./telemetry/TelemetryOperation.ts";
