import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** Why a storage failed, as far as you can act on it. */
export type StorageFailure = "full" | "io" | "permission" | "too_many_files" | "unavailable";

const nextSteps: Readonly<Record<StorageFailure, string>> = {
  full: "Free space and open the agent again.",
  io: "The cause says what the device or the database refused. Correct that and open the agent again.",
  permission: "Give this process access and open the agent again.",
  too_many_files: "Raise the limit of open files, or close agents, and try again.",
  unavailable: "Check that the path is right and that the storage can be reached, and open the agent again.",
};

const noFolder = "A part of that path is a file. Choose a folder, and open the agent again.";

/** The system under a storage failed. Acknowledged writes are intact; whether the failed call took effect is unknown. */
export class StorageError extends AgentPersistenceError {
  override readonly code = "storage_failed";

  constructor(
    readonly reason: StorageFailure,
    /** The operation that failed, such as `fdatasync`. */
    readonly operation: string,
    /** The file, folder or agent that the operation was for; never any content. */
    readonly path: string,
    options?: StorageErrorOptions,
  ) {
    const code = systemCode(options);
    const shown = code === undefined ? reason : `${reason}, ${code}`;
    const advice = options?.advice ?? (code === "ENOTDIR" ? noFolder : nextSteps[reason]);
    super(`${operation} failed on ${path} (${shown}). ${advice}`, options);
  }
}

interface StorageErrorOptions extends ErrorCause {
  /** What to do next. Absent: what helps against the reason. */
  readonly advice?: string | undefined;
}

/** What the system calls it, such as `ENOTDIR`. */
function systemCode(options: ErrorCause | undefined): string | undefined {
  const { code } = Object(options?.cause) as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}
