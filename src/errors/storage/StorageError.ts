import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Why a storage failed: what a caller can act on. */
export type StorageFailure = "full" | "io" | "permission" | "too_many_files" | "unavailable";

const nextSteps: Readonly<Record<StorageFailure, string>> = {
  full: "Free space and open the agent again.",
  io: "Check the device and open the agent again.",
  permission: "Give this process access and open the agent again.",
  too_many_files: "Raise the limit of open files, or close agents, and try again.",
  unavailable: "Check that the storage can be reached and open the agent again.",
};

/** The system under a storage failed. What was acknowledged before is intact; the outcome of the failed call is unknown. */
export class StorageError extends AgentPersistenceError {
  override readonly code = "storage_failed";
  /** What kind of failure it is; the message says what to do about it. */
  readonly reason: StorageFailure;
  /** The operation that failed, such as `fdatasync`. */
  readonly operation: string;
  /** What it was applied to; never a content. */
  readonly path: string;

  constructor(reason: StorageFailure, operation: string, path: string, options?: { readonly cause?: unknown }) {
    super(`${operation} failed on ${path} (${reason}). ${nextSteps[reason]}`, options);
    this.reason = reason;
    this.operation = operation;
    this.path = path;
  }
}
