export { GitError } from "./errors/workspace/GitError.ts";
export { FileNotAcquiredError } from "./errors/workspace/FileNotAcquiredError.ts";
export { FileReservedError, type FileHolder } from "./errors/workspace/FileReservedError.ts";
export { ReservationLostError } from "./errors/workspace/ReservationLostError.ts";
export { mergeThreeWay, type MergeOptions } from "./workspace/merge/mergeThreeWay.ts";
export type { ConflictRegion, ConflictSide, MergeResult } from "./workspace/merge/MergeResult.ts";
export type { MergeLabels } from "./workspace/merge/mergeThreeWay.ts";
export type { MergeVersions } from "./workspace/merge/MergeResult.ts";
export { Workspace, type PreviewedFile, type ScannedFolder, type WorkspaceOptions } from "./workspace/Workspace.ts";
export type { FileConflict, FileResolution } from "./workspace/restore/planRestore.ts";
export type { ConflictHandler } from "./workspace/restore/FileRestore.ts";
export { FileAccessError } from "./errors/workspace/FileAccessError.ts";
export { FileConflictError, type ConflictingFile } from "./errors/workspace/FileConflictError.ts";
export type { FileOperation } from "./workspace/reservations/LockState.ts";
export type { Reservation, ReservedFile } from "./workspace/reservations/LockState.ts";
export { Reservations, type AcquireOptions, type ReservationsOptions } from "./workspace/reservations/Reservations.ts";
export type { ContentConflict } from "./workspace/conflicts/ConflictResolver.ts";
export {
  ConflictResolver,
  type ConflictQuestion,
  type ConflictResolverOptions,
} from "./workspace/conflicts/ConflictResolver.ts";
export { resolveInRun } from "./workspace/conflicts/resolveInRun.ts";
export type { RefusedResolution, ResolutionOutcome, ResolutionStep } from "./workspace/conflicts/ConflictResolver.ts";
export {
  OptimisticLock,
  type CommitResult,
  type FileVersion,
  type OptimisticLockOptions,
} from "./workspace/versions/OptimisticLock.ts";
export { PathNotAllowedError } from "./errors/workspace/PathNotAllowedError.ts";
export type { LeftOutFile } from "./workspace/files/FileNote.ts";
export type { DriftReport } from "./workspace/drift/DriftReport.ts";
export { driftResponse, type DriftResponse } from "./workspace/drift/DriftReport.ts";
export type { DriftSeverity } from "./workspace/drift/DriftReport.ts";
export {
  Drift,
  type DriftNotice,
  type DriftTrigger,
  type DriftWatch,
  type DriftWatchConfig,
} from "./workspace/watch/DriftWatch.ts";
export { recommendRestart, type RestartAdvice } from "./workspace/drift/DriftReport.ts";
export {
  versionTrackerKey,
  type DriftEvent,
  type DriftResolution,
  type VersionTracker,
} from "./workspace/drift/VersionTracker.ts";
export {
  commitFiles,
  revertCommit,
  type CommitAuthor,
  type GitCommitRequest,
  type GitCommitResult,
} from "./workspace/git/commitFiles.ts";
export { commitTool, type CommitToolInput } from "./workspace/tools/commitTool.ts";
export {
  rebaseIfSafe,
  type RebaseOptions,
  type RebaseRefusal,
  type RebaseResult,
} from "./workspace/rebase/rebaseIfSafe.ts";
export { rebaseInRun } from "./workspace/rebase/rebaseIfSafe.ts";
