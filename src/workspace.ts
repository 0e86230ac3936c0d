export {
  GitError,
  FileReservedError,
  type FileHolder,
  ReservationLostError,
  FileAccessError,
  FileConflictError,
  type ConflictingFile,
  PathNotAllowedError,
} from "./errors/workspaceErrors.ts";
export { mergeThreeWay, type MergeOptions } from "./workspace/merge/mergeThreeWay.ts";
export type { MergeLabels } from "./workspace/merge/renderMerge.ts";
export type { ConflictRegion, ConflictSide, MergeResult, MergeVersions } from "./workspace/merge/MergeResult.ts";
export { Workspace, type PreviewedFile, type ScannedFolder, type WorkspaceOptions } from "./workspace/Workspace.ts";
export type { FileAtCheckpoint } from "./workspace/restore/FileHistory.ts";
export type { FileConflict, FileResolution } from "./workspace/restore/FileConflict.ts";
export type { ConflictHandler } from "./workspace/restore/FileRestore.ts";
export type { FileOperation, Reservation, ReservedFile } from "./workspace/reservations/LockState.ts";
export { Reservations, type AcquireOptions, type ReservationsOptions } from "./workspace/reservations/Reservations.ts";
export type { ContentConflict } from "./workspace/conflicts/resolutionPrompt.ts";
export {
  ConflictResolver,
  type ConflictQuestion,
  type ConflictResolverOptions,
  type RefusedResolution,
  type ResolutionOutcome,
  type ResolutionProposal,
  type ResolutionStep,
} from "./workspace/conflicts/ConflictResolver.ts";
export { resolveInRun } from "./workspace/conflicts/ConflictResolver.ts";
export { OptimisticLock } from "./workspace/reservations/OptimisticLock.ts";
export type {
  AcquiredFile,
  CommitResult,
  FileVersion,
  OptimisticLockOptions,
} from "./workspace/reservations/OptimisticLock.ts";
export type { LeftOutFile } from "./workspace/files/FileNote.ts";
export { driftResponse, recommendRestart } from "./workspace/drift/DriftReport.ts";
export type { DriftReport, DriftResponse, DriftSeverity, RestartAdvice } from "./workspace/drift/DriftReport.ts";
export { Drift } from "./workspace/driftWatch/DriftWatch.ts";
export type { DriftNotice, DriftTrigger, DriftWatch, DriftWatchConfig } from "./workspace/driftWatch/DriftWatch.ts";
export { versionTrackerKey } from "./workspace/drift/VersionTracker.ts";
export type { DriftEvent, DriftResolution, VersionTracker } from "./workspace/drift/VersionTracker.ts";
export { commitFiles } from "./workspace/git/commitFiles.ts";
export { revertCommit } from "./workspace/git/revertCommit.ts";
export type { CommitAuthor, GitCommitRequest, GitCommitResult } from "./workspace/git/commitFiles.ts";
export { commitTool, type CommitToolInput } from "./workspace/tools/commitTool.ts";
export { rebaseIfSafe, rebaseInRun } from "./workspace/rebase/rebaseIfSafe.ts";
export type { RebaseOptions, RebaseRefusal, RebaseResult } from "./workspace/rebase/rebaseIfSafe.ts";
