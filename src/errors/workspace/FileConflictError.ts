import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A file that matches neither the agent's last change nor the checkpoint, and the ways to resolve that. */
export interface ConflictingFile {
  readonly kind: "file_modified_externally" | "file_deleted";
  /** Relative to the root of the workspace. */
  readonly path: string;
  /** What `onConflict` may answer. */
  readonly options: readonly string[];
  /** Why the given answer could not be followed; absent when there was no `onConflict`, or it answered "abort". */
  readonly refused?: string;
}

/**
 * Files to restore were changed outside the agent. No file was changed by this. If the conflict was found while the
 * rollback was planned, nothing has changed at all; a rollback that had begun stays open.
 */
export class FileConflictError extends AgentPersistenceError {
  override readonly code = "file_conflict";

  constructor(
    readonly agentId: string,
    /** The checkpoint that the files were to be restored to. */
    readonly checkpointId: string,
    /** Every conflict; at least one. */
    readonly conflicts: readonly ConflictingFile[],
  ) {
    super(
      `The files of agent ${JSON.stringify(agentId)} cannot be restored to checkpoint ${JSON.stringify(checkpointId)}, ` +
        `because they were changed outside the agent: ${conflicts.map(describe).join("; ")}. ` +
        "Resolve each with the option onConflict of the Workspace, or restore the file by hand, then try again.",
    );
  }
}

function describe({ kind, path, options, refused }: ConflictingFile): string {
  const change = kind === "file_deleted" ? "was deleted" : "was modified";
  return `${JSON.stringify(path)} ${change} (${refused === undefined ? "" : `${refused}; `}${options.join(", ")})`;
}
