import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A file that changed since the agent wrote it, or that cannot be reached, with the ways to resolve the conflict. */
export interface ConflictingFile {
  readonly kind: "file_modified_externally" | "file_deleted" | "file_unreachable" | "git_state_changed";
  /** Relative to the root of the workspace. `.git/HEAD` and `.git/index` refer to the repository. */
  readonly path: string;
  /** The reason why the file cannot be reached, as a phrase that follows the path. Only for `file_unreachable`. */
  readonly reason?: string;
  /** Whether an interrupted command of the agent possibly made the change. Defaults to `false`. */
  readonly interrupted?: true;
  /** The values that `onConflict` may return. */
  readonly options: readonly string[];
  /** The reason why the returned value could not be applied. Omitted if `onConflict` is missing or returned "abort". */
  readonly refused?: string;
}

/**
 * Files to restore were changed outside the agent, or cannot be reached. All files are unchanged. A conflict found
 * during planning leaves the stored state unchanged. A rollback that already started stays open.
 */
export class FileConflictError extends AgentPersistenceError {
  override readonly code = "file_conflict";

  constructor(
    readonly agentId: string,
    /** The checkpoint to restore the files to. */
    readonly checkpointId: string,
    /** All conflicts, at least one. */
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
