import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A file that is not as the agent left it, or that cannot be reached, and the ways to resolve that. */
export interface ConflictingFile {
  readonly kind: "file_modified_externally" | "file_deleted" | "file_unreachable" | "git_state_changed";
  /** Relative to the root of the workspace. `.git/HEAD` and `.git/index` stand for those of the repository. */
  readonly path: string;
  /** Why it cannot be reached; completes a sentence that begins with the path. Only with `file_unreachable`. */
  readonly reason?: string;
  /** A command of the agent that was interrupted may have made the change. Defaults to `false`. */
  readonly interrupted?: true;
  /** What `onConflict` may answer. */
  readonly options: readonly string[];
  /** Why the given answer could not be followed; absent when there was no `onConflict`, or it answered "abort". */
  readonly refused?: string;
}

/**
 * Files to restore were changed outside the agent, or cannot be reached. All files are as they were before. If the conflict
 * was found while the rollback was planned, nothing has changed at all; a rollback that had begun stays open.
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
      `The files of agent ${quoted(agentId)} cannot be restored to checkpoint ${quoted(checkpointId)}, ` +
        `because others changed them or they cannot be reached: ${conflicts.map(describe).join("; ")}. ` +
        "Resolve each with the option onConflict of the Workspace, or restore the file by hand, then try again.",
    );
  }
}

const changes = {
  file_modified_externally: "was modified",
  file_deleted: "was deleted",
  git_state_changed: "was changed",
} as const;

function describe({ kind, path, reason, interrupted, options, refused }: ConflictingFile): string {
  const by = interrupted ? " by others or by a command that was interrupted" : "";
  const change = kind === "file_unreachable" ? (reason ?? "cannot be reached") : `${changes[kind]}${by}`;
  return `${JSON.stringify(path)} ${change} (${refused === undefined ? "" : `${refused}; `}${options.join(", ")})`;
}
