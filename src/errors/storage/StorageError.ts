import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** The category of a storage failure. Determines the advice in the message. */
export type StorageFailure = "full" | "io" | "permission" | "too_many_files" | "unavailable";

const nextSteps: Readonly<Record<StorageFailure, string>> = {
  full: "Free space and open the agent again.",
  io: "Fix the problem that the cause describes, and open the agent again.",
  permission: "Give this process access and open the agent again.",
  too_many_files: "Raise the limit of open files, or close agents, and try again.",
  unavailable: "Check that the path is right and that the storage can be reached, and open the agent again.",
};

const noFolder = "A part of that path is a file. Choose a directory, and open the agent again.";

/** The system that a storage uses failed. Acknowledged writes are intact. The failed call possibly took effect. */
export class StorageError extends AgentPersistenceError {
  override readonly code = "storage_failed";

  constructor(
    readonly reason: StorageFailure,
    /** The operation that failed, such as `fdatasync`. */
    readonly operation: string,
    /** The file, directory or agent of the operation. Never contains stored content. */
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
  /** The advice in the message. Defaults to advice for the category of the failure. */
  readonly advice?: string | undefined;
}

/** Returns the error code of the system, such as `ENOTDIR`. */
function systemCode(options: ErrorCause | undefined): string | undefined {
  const { code } = Object(options?.cause) as { readonly code?: unknown };
  return typeof code === "string" ? code : undefined;
}
