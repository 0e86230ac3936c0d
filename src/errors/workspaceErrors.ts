import { AgentPersistenceError, type ErrorCause, quoted } from "./AgentPersistenceError.ts";

/** A file of a workspace could not be read or written. */
export class FileAccessError extends AgentPersistenceError {
  override readonly code = "file_access_failed";

  constructor(
    /** Relative to the root of the workspace. */
    readonly path: string,
    /** The reason, as a phrase that follows the file name, such as `is a folder`. */
    readonly reason: string,
    options?: ErrorCause,
  ) {
    super(`The file ${JSON.stringify(path)} ${reason}.`, options);
  }
}

/** A file that changed since the agent wrote it, or that cannot be reached. */
export interface ConflictingFile {
  readonly kind: "file_modified_externally" | "file_deleted" | "file_unreachable" | "git_state_changed";
  /** Relative to the root of the workspace. `.git/HEAD` and `.git/index` refer to the repository. */
  readonly path: string;
  /** The reason why the file cannot be reached, as a phrase that follows the path. Only for `file_unreachable`. */
  readonly reason?: string;
  /** Whether an interrupted command of the agent could have made the change. Defaults to `false`. */
  readonly interrupted?: true;
  /** The values that `onConflict` may return. */
  readonly options: readonly string[];
  /** Why the result of `onConflict` could not be applied. Omitted if `onConflict` is not set or returned "abort". */
  readonly refused?: string;
}

/**
 * Files to restore were changed outside the agent, or cannot be reached. All files are unchanged. If the rollback has
 * not started, the stored state is unchanged too. A started rollback stays unfinished.
 */
export class FileConflictError extends AgentPersistenceError {
  override readonly code = "file_conflict";

  constructor(
    readonly agentId: string,
    /** The checkpoint to restore the files to. */
    readonly checkpointId: string,
    readonly conflicts: readonly ConflictingFile[],
  ) {
    super(
      `The files of agent ${quoted(agentId)} cannot be restored to checkpoint ${quoted(checkpointId)}, ` +
        `because others changed them or they cannot be reached: ${conflicts.map(describeConflict).join("; ")}. ` +
        "Resolve each conflict with the option onConflict of the Workspace, or restore the file by hand, then try again.",
    );
  }
}

const changes = {
  file_modified_externally: "was modified",
  file_deleted: "was deleted",
  git_state_changed: "was changed",
} as const;

function describeConflict({ kind, path, reason, interrupted, options, refused }: ConflictingFile): string {
  const by = interrupted ? " by others or by a command that was interrupted" : "";
  const change = kind === "file_unreachable" ? (reason ?? "cannot be reached") : `${changes[kind]}${by}`;
  return `${JSON.stringify(path)} ${change} (${refused === undefined ? "" : `${refused}; `}${options.join(", ")})`;
}

/** An owner that holds a file. */
export interface FileHolder {
  readonly owner: string;
  readonly operation: "read" | "write";
  /** In ISO 8601. Empty if unknown. */
  readonly expiresAt: string;
}

/** Other owners reserved a file and did not release it in time. The file was not reserved. */
export class FileReservedError extends AgentPersistenceError {
  override readonly code = "file_reserved";

  constructor(
    /** Relative to the root of the workspace. */
    readonly path: string,
    readonly operation: "read" | "write",
    /** The owners that hold the file. Empty if only earlier requests for the file are waiting. */
    readonly holders: readonly FileHolder[],
  ) {
    const found = holders.length === 0 ? "earlier requests are waiting for it" : holders.map(describeHolder).join(", ");
    super(
      `${JSON.stringify(path)} cannot be reserved for ${operation} access: ${found}. ` +
        "Wait longer with `timeoutMs`, or ask the owner to release the file.",
    );
  }
}

function describeHolder({ owner, operation, expiresAt }: FileHolder): string {
  return `${quoted(owner)} has ${operation} access${expiresAt && ` until ${expiresAt}`}`;
}

/** A git command failed, because git is not installed, the repository is missing or git reported an error. */
export class GitError extends AgentPersistenceError {
  override readonly code = "git_failed";
  /** The effects on the repository and the work tree, as a sentence. */
  readonly changed: string;

  constructor(
    /** The git command, such as `rev-list`. Empty if git was not called. */
    readonly command: string,
    /** The error message of git, or the reason why git was not called. */
    readonly reason: string,
    { changed = "Nothing was changed.", ...options }: ErrorCause & { readonly changed?: string } = {},
  ) {
    super(`git ${command === "" ? "" : `${command} `}failed: ${reason}. ${changed}`, options);
    this.changed = changed;
  }
}

/** A path leads outside the workspace, through a link, or into a `.git`. The file was neither read nor written. */
export class PathNotAllowedError extends AgentPersistenceError {
  override readonly code = "path_not_allowed";

  constructor(
    readonly path: string,
    readonly reason: string,
  ) {
    super(
      `The path ${JSON.stringify(path)} is not allowed: ${reason}. ` +
        'Give the path of a file inside the workspace, relative to its root, such as "src/main.ts".',
    );
  }
}

/** A reservation was released or expired. Do not write the files that the reservation covered. */
export class ReservationLostError extends AgentPersistenceError {
  override readonly code = "reservation_lost";

  constructor(
    readonly owner: string,
    /** Relative to the root of the workspace. */
    readonly path: string,
  ) {
    super(
      `${quoted(owner)} no longer holds the reservation of ${JSON.stringify(path)}: it was released or has expired. ` +
        "Reserve the file again, and read it again before you write it.",
    );
  }
}
