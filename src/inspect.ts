export {
  AgentInspector,
  inspect,
  type AgentsFilter,
  type FollowOptions,
  type InspectOptions,
  type RecordsOptions,
} from "./inspect/AgentInspector.ts";
export type { ContentOptions } from "./inspect/show/checkpointContent.ts";
export type { PageOptions } from "./inspect/log/pageOf.ts";
export type {
  AgentStatus,
  AgentView,
  ListedAgent,
  LogShape,
  OwnershipView,
  OwnerView,
  RunView,
} from "./inspect/view/AgentView.ts";
export type { CallState, CallUndo, CallView } from "./inspect/view/CallView.ts";
export type {
  ChangedValue,
  CheckpointContent,
  CheckpointDifference,
  MessageView,
  CheckpointsPage,
  CheckpointView,
} from "./inspect/view/CheckpointView.ts";
export type { Damage, EntryView } from "./inspect/view/viewParts.ts";
export type { FileState as FileStateView } from "./checkpoint/data/FileChange.ts";
export type { FileChangeView, NotedFileChange } from "./inspect/view/viewParts.ts";
export type { LaneView, LineView } from "./inspect/view/viewParts.ts";
export type { RequestView } from "./inspect/view/RequestView.ts";
export type { RollbackPreview, RollbackView } from "./inspect/view/RollbackView.ts";
export type { Problem, ShownValue } from "./inspect/view/viewParts.ts";
export type {
  AnswerView,
  BeginStep,
  ChangesView,
  LogStep,
  MoveStep,
  OwnerStep,
  RollbackStep,
  RunStep,
  StatusStep,
  StepsPage,
  StepView,
  VisitStep,
} from "./inspect/view/StepView.ts";
export type { UsageView } from "./inspect/view/viewParts.ts";
