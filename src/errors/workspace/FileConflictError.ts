import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A file that is neither as the agent left it nor as the checkpoint has it, with the ways to settle that. */
export interface ConflictingFile {
  readonly kind: "file_modified_externally" | "file_deleted";
  /** Relative to the root of the workspace. */
  readonly path: string;
  /** What `onConflict` may answer. */
  readonly options: readonly string[];
  /** Why the answer that was given could not be followed. Absent: nobody was there to ask, or the answer was "abort". */
  readonly refused?: string;
}

/**
 * Files would have to be restored that somebody else has changed since. No file was changed by this; a rollback that met
 * it while it was planned has changed nothing at all, one that had begun stays open.
 */
export class FileConflictError extends AgentPersistenceError {
  readonly code = "file_conflict";
  readonly agentId: string;
  readonly checkpointId: string;
  readonly conflicts: readonly ConflictingFile[];

  constructor(agentId: string, checkpointId: string, conflicts: readonly ConflictingFile[]) {
    super(
      `The files of agent ${JSON.stringify(agentId)} cannot be restored to checkpoint ${JSON.stringify(checkpointId)}, ` +
        `since somebody else changed them: ${conflicts.map(describe).join("; ")}. ` +
        "Settle each with the option onConflict of the Workspace, or put the file back by hand, and try again.",
    );
    this.agentId = agentId;
    this.checkpointId = checkpointId;
    this.conflicts = conflicts;
  }
}

function describe({ kind, path, options, refused }: ConflictingFile): string {
  const what = kind === "file_deleted" ? "was deleted" : "was modified";
  return `${JSON.stringify(path)} ${what} (${refused === undefined ? "" : `${refused}; `}${options.join(", ")})`;
}
