import { AgentPersistenceError, type ErrorCause, quoted } from "./AgentPersistenceError.ts";

/** The owner of an agent. */
export interface BusyOwner {
  readonly host: string;
  readonly processId: number;
  /** Distinguishes this owner from other owners in the same process. */
  readonly nonce: string;
  /** Each new owner of an agent receives a higher generation. */
  readonly generation: number;
}

/** Another owner holds the agent. The stored state is unchanged. */
export class AgentBusyError extends AgentPersistenceError {
  override readonly code = "agent_busy";
  /** Milliseconds to wait before another attempt. If the owner has crashed, the agent is then free. */
  readonly retryAfterMs: number;

  constructor(
    readonly agentId: string,
    readonly owner: BusyOwner,
    retryAfterMs: number,
    /** Whether a call in this process holds the agent. */
    readonly inThisProcess: boolean = false,
  ) {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
    super(
      inThisProcess
        ? `A call in this process holds agent ${quoted(agentId)}. Wait until it finishes, ` +
            `or pass whenBusy: "queue" | "join" | "replace" to run().`
        : `Agent ${quoted(agentId)} is owned by process ${owner.processId} on ${owner.host} (generation ${owner.generation}). ` +
            `If that process crashed, another process can take over the agent in at most ${seconds} s. Otherwise wait until its run finishes.`,
    );
    this.retryAfterMs = Math.ceil(retryAfterMs);
  }
}

/** The id of a new agent, task, checkpoint or thread is already in use. The stored state is unchanged. */
export class AlreadyExistsError extends AgentPersistenceError {
  constructor(
    override readonly code: "agent_exists" | "checkpoint_exists" | "task_exists" | "thread_exists",
    /** The id of the agent or thread. A task has the id of its agent. */
    readonly agentId: string,
    /** The id of the checkpoint. Omitted unless a checkpoint has the id. */
    readonly checkpointId?: string,
    reason?: string,
  ) {
    super(messages[code](quoted(agentId), checkpointId && quoted(checkpointId), reason));
  }
}

const messages: Readonly<
  Record<AlreadyExistsError["code"], (id: string, checkpoint?: string, reason?: string) => string>
> = {
  agent_exists: (id) => `The storage already has an agent ${id}. Choose another id, or a storage without this agent.`,
  checkpoint_exists: (id, checkpoint, reason) => `Checkpoint ${checkpoint} of agent ${id} cannot be saved: ${reason}.`,
  task_exists: (id) =>
    `The storage already has an agent or a task ${id}. Give the new task another taskId, or omit taskId.`,
  thread_exists: (id) => `The storage already has a thread ${id}. Choose another id, or delete that thread first.`,
};

/** A storage does not implement the method that an operation requires. The stored state is unchanged. */
export class NotSupportedError extends AgentPersistenceError {
  override readonly code = "not_supported";

  constructor(
    readonly operation: string,
    /** The missing ability of the storage. */
    readonly missing: string,
  ) {
    super(`${operation} needs ${missing}, which this storage does not have.`);
  }
}

/** Another owner took over the agent. The append may be stored. Read the log to find out. */
export class OwnershipLostError extends AgentPersistenceError {
  override readonly code = "ownership_lost";

  constructor(
    readonly agentId: string,
    readonly generation: number,
    /** The generation of the new owner. Omitted if unknown. */
    readonly successor?: number,
  ) {
    const now = successor === undefined ? "another owner" : `generation ${successor}`;
    super(
      `Agent ${quoted(agentId)} was owned as generation ${generation}, but ${now} took over. ` +
        `The last append may be stored. Open the agent again and read its log.`,
    );
  }
}

/** The log does not end at the position that an append expected. The records were not stored. */
export class PositionConflictError extends AgentPersistenceError {
  override readonly code = "position_conflict";

  constructor(
    readonly agentId: string,
    /** The last position that the append expected. */
    readonly expected: number,
    readonly found: number,
  ) {
    super(
      `An append to agent ${quoted(agentId)} expected the last position to be ${expected}, but found ${found}. ` +
        `Read the log after position ${expected}, and append again if the records still apply.`,
    );
  }
}

/**
 * An operation such as `prune()` deletes data, but a storage with only the three methods of
 * `PersistenceStorageProvider` cannot delete. The stored state is unchanged.
 */
export class PruningNotSupportedError extends AgentPersistenceError {
  override readonly code = "pruning_not_supported";

  constructor(readonly operation: string) {
    super(
      `${operation} requires a storage that can delete, unlike a three-method storage. Delete rows in the database while the agent does not run, or use a storage with a log, such as FilePersistenceStorageProvider.`,
    );
  }
}

/** A storage or an owned log was used after it was closed, released or dropped. `subject` names the storage or log. */
export class StorageClosedError extends AgentPersistenceError {
  override readonly code = "storage_closed";

  constructor(readonly subject: string) {
    super(`${subject} is closed. Open it again before you use it.`);
  }
}

/** The category of a storage failure. The category determines the advice in the message. */
export type StorageFailure = "full" | "io" | "permission" | "too_many_files" | "unavailable";

const nextSteps: Readonly<Record<StorageFailure, string>> = {
  full: "Free space and open the agent again.",
  io: "Fix the cause, and open the agent again.",
  permission: "Give this process access and open the agent again.",
  too_many_files: "Raise the limit of open files, or close agents.",
  unavailable: "Check the path and the storage, and open the agent again.",
};

const noFolder = "A part of that path is a file. Choose a directory.";

/** The system behind a storage failed. Acknowledged writes are intact, and the failed call possibly took effect. */
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

/** Tasks require a storage that lists its agents, such as a storage with a log. */
export class StorageNotListableError extends AgentPersistenceError {
  override readonly code = "storage_not_listable";

  constructor() {
    super(
      "Tasks require a storage that can list agents and lock them for one owner. Use a storage with a RecordLog, such as " +
        "FilePersistenceStorageProvider or InMemoryPersistenceStorageProvider. " +
        "For a custom storage, implement RecordLog and wrap it in LogPersistenceStorageProvider.",
    );
  }
}

/** The tables of a storage are missing or outdated, and the storage may not create them. The database is unchanged. */
export class StorageNotReadyError extends AgentPersistenceError {
  override readonly code = "storage_not_ready";

  constructor(
    /** The location of the tables, such as a schema. */
    readonly subject: string,
    /** The version in the database, or 0 if the tables are missing. */
    readonly found: number,
    readonly needed: number,
  ) {
    const state = found === 0 ? "has no tables of agent-persistence" : `has its tables in version ${found}`;
    super(
      `${subject} ${state}, but version ${needed} is required. Run migrate() of the storage, or the statements of ` +
        `postgresMigrations(), with a role that may create tables.`,
    );
  }
}

/** Another backup writes into the directory. The directory is unchanged. */
export class BackupBusyError extends AgentPersistenceError {
  override readonly code = "backup_busy";

  constructor(
    readonly directory: string,
    readonly owner: BusyOwner,
    options?: ErrorCause,
  ) {
    super(
      `A backup into ${quoted(directory)} runs in process ${owner.processId} on ${owner.host}. ` +
        "Wait until it ends, or back up into another directory. If that process crashed on another machine, try again in a minute.",
      options,
    );
  }
}
