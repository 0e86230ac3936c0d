export { RecoveryRefusedError } from "./errors/checkpointErrors.ts";
export {
  ScheduleNotFoundError,
  TaskNotFoundError,
  TransitionNotAllowedError,
  OtherStorageError,
  TooManyAttemptsError,
} from "./errors/taskErrors.ts";
export type { FileReservation } from "./checkpoint/status/TaskStatus.ts";
export { STATE_TRANSITIONS } from "./checkpoint/status/TaskStatus.ts";
export type { StateData } from "./checkpoint/status/TaskStatus.ts";
export { TaskStatus } from "./checkpoint/status/TaskStatus.ts";
export { isResumable, allowedTransitions, transitionTask, type TaskTransition } from "./task/state/transitionTask.ts";
export type { NewTask, Task, TaskWithStatus } from "./task/state/Task.ts";
export { TaskManager } from "./task/queue/TaskManager.ts";
export type {
  InterruptTaskOptions,
  PauseTaskOptions,
  TaskFilter,
  TaskManagerOptions,
} from "./task/queue/TaskManagerOptions.ts";
export { nodeEnvironment, type NodeEnvironmentOptions } from "./task/environment/nodeEnvironment.ts";
export { TaskWorker } from "./task/worker/TaskWorker.ts";
export type { TaskWorkerOptions, TaskWorkerEvent, WorkOptions, TaskOutcome } from "./task/worker/TaskWorkerOptions.ts";
export {
  type FileReservations,
  type HeldReservation,
  InProcessReservations,
  type InProcessReservationsOptions,
} from "./task/worker/FileReservations.ts";
export { findOverlaps, type FileOverlap } from "./task/state/findOverlaps.ts";
export type { ScheduleFailure, Schedules } from "./task/queue/Schedules.ts";
export type { MissedTick, NewSchedule, Schedule, ScheduleCatchUp, ScheduleOverlap } from "./task/queue/Schedule.ts";
export type { QueueLimits } from "./task/queue/QueueTurns.ts";
export type { QueueScope } from "./task/queue/QueuedTasks.ts";
export type { QueueRefusal, QueueTurn } from "./task/queue/QueueTurns.ts";
export type { TaskControls } from "./checkpoint/records/runRecords.ts";
export type { ClaimableTask } from "./task/queue/claimableTasks.ts";
export type { PrunableAgents, PruningSchedule } from "./persistence/config/PersistenceConfig.ts";
export {
  diskUsage,
  retentionSchedule,
  RetentionSchedule,
  type RetentionScheduleOptions,
} from "./persistence/RetentionSchedule.ts";
export { recoverTask, recoverTasks, type RecoveryOutcome } from "./task/recovery/Recovery.ts";
export type {
  RecoverAllOptions,
  RecoverOptions,
  RecoveryHandlers,
  RecoveryProposal,
  RecoveryChoice,
  RecoveryReport,
  RecoveryStep,
} from "./task/recovery/RecoverOptions.ts";
export { recoveryOptions } from "./environment/RecoveryParticipant.ts";
export type { RecoveredAgent, RecoveryOption, RecoveryParticipant } from "./environment/RecoveryParticipant.ts";
