import type { TornTail, Entry } from "../checkpoint/records/Entry.ts";
import type { SealBrokenError } from "../errors/sealErrors.ts";
import type { CorruptLogError } from "../errors/storedDataErrors.ts";
import type { TaskControls } from "../checkpoint/records/runRecords.ts";
import type { FileReservation } from "../checkpoint/status/TaskStatus.ts";
import type { BlobStore } from "./BlobStore.ts";
import type { KeySource } from "./KeySource.ts";

/** The capabilities of a storage. All differences between backends are declared here. */
export interface LogCapabilities {
  /** Whether acknowledged appends survive the end of the process. `false` for a storage in memory. */
  readonly durable: boolean;
  /** `"many"` if the storage supports concurrent processes. With `"one"`, the caller must prevent concurrent use. */
  readonly processes: "one" | "many";
  /** `"many"` if processes on several machines may use the storage concurrently. */
  readonly machines: "one" | "many";
  /**
   * The part of an agent that survives until the agent is opened again. If omitted, all records survive. If set, the
   * agent cannot wait for an answer to a request.
   */
  readonly keeps?: "checkpoints" | "nothing";
  /**
   * With `"exact"`, a list shows the current state of each agent. With `"eventual"`, a list may temporarily omit an
   * agent or show an older summary. If omitted, the storage cannot list agents, and its lists are empty.
   */
  readonly listing?: "exact" | "eventual";
  /**
   * Whether `list` applies all options and reads little more than the results. If omitted, `list` applies only a single
   * `status`, `after` and `limit`, and the library filters the rest.
   */
  readonly narrows?: true;
  /**
   * The absolute path of the directory with the files of the storage. Workspaces that contain this directory ignore it.
   * Omitted if the storage has no directory on this machine.
   */
  readonly folder?: string;
  /**
   * True if the log has redacted values. Stored appends contain these values only in encrypted form, but readers get
   * the true values. Such a log cannot be exported or backed up. Omitted for every other log.
   */
  readonly redacted?: true;
  /** The keys that encrypt archives of the log by default. Omitted if the log is not encrypted. */
  readonly archiveKeys?: KeySource;
}

/** The owner of a log. `nonce` is random and distinguishes owners within one process. */
export interface LogOwner {
  readonly host: string;
  readonly processId: number;
  readonly nonce: string;
  /**
   * Identifies this process on its machine by boot, namespaces and start time, in the format of `incarnationOf`. It
   * lets another process on the same machine take over immediately after this process is killed. If omitted, the
   * storage reads the information from the system if possible. Otherwise a takeover waits until the lease expires.
   */
  readonly incarnation?: string;
  /**
   * Set if the caller refuses an agent that does not exist. The storage may then return an empty log that rejects
   * appends, so that it need not create files for the agent. A storage may ignore this field.
   */
  readonly mustExist?: boolean | undefined;
  /** Set if the caller only drops the log. The storage then also opens a log that is too damaged to be used. */
  readonly drops?: boolean | undefined;
}

/** `alive`: renews its lease. `gone`: its process has exited. `silent`: has not renewed for a whole lease. */
export type OwnerState = "alive" | "gone" | "silent";

/** A stored status summary that was damaged or belonged to another agent. It was rebuilt from the log. */
export interface RebuiltSummary {
  /** The file or part of the storage that contains the summary. */
  readonly file: string;
}

/** Describes the end of a log, based on its bytes. */
export interface LogEnd {
  /** True if the last owner closed the log here. If `false`, lost appends at the end cannot be detected. */
  readonly closed: boolean;
  /** The remains of an incomplete append at the end. Omitted if the log ends with a complete append. */
  readonly tornTail?: TornTail;
}

/** The status of one agent as a list shows it. Written when the status changes, not for each checkpoint. */
export interface AgentSummary {
  /** The id of the agent. For an unreadable agent with an unknown id, the name that the storage uses for it. */
  readonly agentId: string;
  /** The status, or `unreadable` if it cannot be read. `data` is then `{ code, message }` of an error. */
  readonly status: string;
  /** The sort key of `list`, compared by its UTF-8 bytes. Never empty and unique among agents. */
  readonly order: string;
  /** The time at which a worker continues the task or the schedule, in ISO 8601. Omitted for other agents. */
  readonly dueAt?: string;
  /** The ids of the open requests. */
  readonly requestIds: readonly string[];
  /** The position of the append that this summary reflects. */
  readonly position: number;
  readonly runId?: string;
  /** The task name that the agent was created with. Omitted if the agent does not belong to a task. */
  readonly taskName?: string;
  /** The priority of the task. Defaults to 0. */
  readonly priority?: number;
  /** The input of the task, in stored form. Omitted if `data` contains it or the agent does not belong to a task. */
  readonly inputRequest?: unknown;
  /** The files that the task reads and writes. Omitted without a task, and by earlier versions. */
  readonly reserves?: readonly FileReservation[];
  /** When and how often workers may run the task. Omitted if the task has no such options. */
  readonly controls?: TaskControls;
  /** An upper bound for the attempts since the last progress, omitted like `reserves`. */
  readonly attempts?: number;
  /**
   * The number of checkpoints when the summary was written. An agent in progress adds more. Omitted if unknown, which
   * is the case during an unfinished pruning, for a new fork, and for summaries of earlier versions.
   */
  readonly checkpoints?: number;
  /** In ISO 8601. */
  readonly createdAt: string;
  /** In ISO 8601. */
  readonly updatedAt: string;
  /** The data of the status, as plain JSON with values in stored form. */
  readonly data: unknown;
}

/** Selects the agents that match all given options. Defaults to all agents. */
export interface ListOptions {
  /** Selects agents with this status, or with one of these statuses. */
  readonly status?: string | readonly string[];
  /** Selects agents without a living owner. */
  readonly free?: true;
  /** Selects agents that are due at this time or earlier, in ISO 8601. */
  readonly dueBefore?: string;
  /** Selects agents whose status last changed at this time or earlier, in ISO 8601. */
  readonly updatedBefore?: string;
  /** Selects agents after this `order`. */
  readonly after?: string;
  /** The maximum number of agents. Defaults to no limit. */
  readonly limit?: number;
  /** The list must not write, not even an index that speeds up later lists. */
  readonly readOnly?: true;
}

/** The content of one atomic append. */
export interface LogAppend {
  /** Unique in the log. If an append with the same id is repeated at the same position, it is acknowledged. */
  readonly id: string;
  /** Plain JSON. The storage must not change the records and must copy them if it keeps them. */
  readonly records: Entry["records"];
  /** The new summary, if the status changed. The log sets its `position`. */
  readonly summary?: AgentSummary;
  /** Whether the records contain a snapshot, so that a reader may start here. */
  readonly snapshot?: boolean;
  /**
   * Whether the owner releases the log next. A storage may release the log in the same write. It may also ignore this
   * field, because the owner calls `release` in any case.
   */
  readonly releases?: boolean;
}

/** Selects entries. */
export interface ReadOptions {
  /** Selects entries at a higher position. */
  readonly after?: number;
  /** Selects entries up to this position, inclusive. */
  readonly upTo?: number;
  /** Starts at the newest snapshot at or before `upTo`, if the log has one. */
  readonly sinceSnapshot?: boolean;
}

/** The subscription that {@link RecordLog.watch} returns. */
export interface LogWatch {
  /** Ends the subscription. */
  close(): Promise<void>;
}

/** The stored appends of a log, for {@link RecordLog.receive}. */
export interface StoredAppends {
  /** The appends in the format of {@link RecordLog.encodedAppends}, oldest first, at least one. Do not change them. */
  readonly appends: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** The generation of the last append, which is the highest one. At most 2^40. */
  readonly generation: number;
}

/** An agent to create with {@link RecordLog.createMany}. */
export interface NewAgent {
  readonly agentId: string;
  readonly append: LogAppend;
}

/**
 * The full storage contract. Each agent has one append-only, totally ordered log with one owner at a time. Authors of a
 * backend implement this interface. The library handles codecs, large values and the meaning of records.
 */
export interface RecordLog {
  readonly version: "v1";
  readonly capabilities: LogCapabilities;
  readonly blobs: BlobStore;
  /** Takes ownership without waiting. @throws AgentBusyError if another owner is alive. */
  open(agentId: string, owner: LogOwner): Promise<OwnedLog>;
  /**
   * Reads entries, oldest first, without the positions that a stored `pruned` record removes. Requires no ownership and
   * does not write. Yields no entries for an unknown agent.
   *
   * @throws CorruptLogError in place of an entry whose stored bytes were changed.
   */
  read(agentId: string, options?: ReadOptions): AsyncIterable<Entry>;
  /**
   * Lists agents, sorted by `order`. An unreadable agent is listed with the status `unreadable`, so that the list does
   * not fail. Never omits an agent with a requested status. Only an agent that changes between two requested statuses
   * during the list may be omitted. If `unreadable` is one of several requested statuses, a log with `narrows` may skip
   * agents whose last known status was not requested.
   */
  list(options?: ListOptions): AsyncIterable<AgentSummary>;
  /**
   * Returns the number of bytes that remain of pruned appends, for example because a crash interrupted their removal.
   * Does not write. If the method is missing, the storage cannot tell, and the next pruning removes such bytes.
   */
  unremovedBytes?(agentId: string): Promise<number>;
  /**
   * Reads the encoded appends of an agent, oldest first. Each one is the UTF-8 text that its checksum covers, without a
   * line break. Positions that a stored `pruned` record removes are skipped. Each append has a separate buffer that
   * never changes, and the caller must not change it. Requires no ownership and does not write. Yields no appends for an
   * unknown agent. If the method is missing, agents of this storage can neither be forked nor moved.
   *
   * @param options.upTo - the last position to read, inclusive. Defaults to the last position when reading starts.
   * @throws CorruptLogError in place of an append whose stored bytes were changed.
   */
  encodedAppends?(agentId: string, options?: { readonly upTo?: number }): AsyncIterable<Uint8Array>;
  /**
   * Creates an agent from the appends of another log, and owns the agent. The appends are stored byte for byte, so
   * positions, checksums and generations are preserved. One more append follows. The operation is atomic and survives
   * crashes. Until the promise resolves, the agent has no entries and is not listed. The appends are requested one at a
   * time while the agent is owned. If the method is missing, agents cannot be forked or moved to this storage.
   *
   * @param last - returns the append that follows the received appends. `position` is the position of the last received
   * append. `generation` is the new owner's generation, which is above the generations of all these appends and of all
   * earlier owners. The append must have a summary.
   * @returns the log, positioned at the last append.
   * @throws AlreadyExistsError (`agent_exists`) if the agent has entries.
   * @throws AgentBusyError if the agent has another owner.
   * @throws CorruptLogError if an append is damaged, does not follow its predecessor or has a generation that is too
   * high.
   */
  receive?(
    agentId: string,
    owner: LogOwner,
    received: StoredAppends,
    last: (end: { readonly generation: number; readonly position: number }) => LogAppend | PromiseLike<LogAppend>,
  ): Promise<OwnedLog>;
  /**
   * Creates several agents in few round trips. Each one gets one append at position 1 with generation 1, and no owner.
   * The append of an agent is stored completely or not at all. Skips agents that exist or existed. If the method is
   * missing, callers create agents one at a time.
   *
   * @param agents - at most 100 distinct agents.
   * @returns for each agent, whether this call created it, or an error if this is unknown for only that agent.
   * @throws StorageError if the storage failed. Some agents are possibly created.
   */
  createMany?(agents: readonly NewAgent[]): Promise<readonly (boolean | Error)[]>;
  /** Describes the end of a log. Without this method, the storage cannot tell. @throws CorruptLogError if damaged */
  end?(agentId: string): Promise<LogEnd>;
  /** Returns the owner and its state. `undefined` if the log is free. Does not take ownership. */
  owner(agentId: string): Promise<(LogOwner & { readonly generation: number; readonly state: OwnerState }) | undefined>;
  /** Requests the owner to stop, in any process. `OwnedLog.lost` of the owner aborts at the next renewal or earlier. */
  requestStop(agentId: string, reason: string): Promise<void>;
  /**
   * Calls a function soon after an owner releases an agent, because a waiting task may then start. Calls may be
   * spurious, late or missing, so callers must also poll. A killed owner does not trigger a call. If the method is
   * missing, callers only poll.
   *
   * @param onChange - must not throw.
   */
  watch?(onChange: () => void): Promise<LogWatch>;
  /**
   * Frees a small disk reserve for a caller that needs to delete data from a full device. Resolves to `false` if no
   * reserve exists. If the method is missing, the storage keeps no reserve.
   */
  makeRoom?(): Promise<boolean>;
  /** Releases all resources. Further calls reject with `StorageClosedError`. */
  close(): Promise<void>;
}

export type ReceiveArguments = Parameters<NonNullable<RecordLog["receive"]>>;

/** Returns the append that follows received ones. */
export type LastAppend = ReceiveArguments[3];

/** A log that this process owns. */
export interface OwnedLog {
  /** The position of the last append, or 0 for an empty log. */
  readonly position: number;
  /** The fencing token. It grows with each change of owner. */
  readonly generation: number;
  /** The remains of an incomplete append that this open skipped. `undefined` if the log ends with a complete append. */
  readonly tornTail?: TornTail | undefined;
  /** Damage at the end of the log. The log then rejects appends, but it may be dropped. `undefined` if intact. */
  readonly damage?: CorruptLogError | SealBrokenError | undefined;
  /** The damaged status summary that the opening rebuilt. `undefined` if the summary was intact. */
  readonly rebuilt?: RebuiltSummary | undefined;
  /**
   * Aborts when this process must stop writing to the log. The reason is an `OwnershipLostError` after a takeover, or a
   * `StopRequestedError` after a request to stop.
   */
  readonly lost: AbortSignal;
  /**
   * Appends records and resolves to the new position when they are durable. Resolves in a later turn of the event loop,
   * so that timers and signals can run between the steps of an agent.
   *
   * @throws PositionConflictError if `expectedPosition` is not the position of the last append.
   * @throws OwnershipLostError if another owner took over. The append is possibly stored.
   * @throws StorageError if the storage failed. All further appends also reject.
   */
  append(entry: LogAppend, expectedPosition: number): Promise<number>;
  /**
   * Checks for a request to stop without waiting for the next renewal. After a request, `lost` is aborted when the
   * promise resolves. Cheap enough for a few calls per second. An idle owner calls this method so that another owner
   * can take the log quickly. If the method is missing, the owner notices the request at its next renewal.
   */
  checkStop?(): Promise<void>;
  /** Removes the bytes of all appends that durable `pruned` records name. Rejects if another owner took over. */
  prune(): Promise<void>;
  /**
   * Deletes the agent. A new agent with the same id continues the positions and generations. Rejects if another owner
   * took over.
   */
  drop(): Promise<void>;
  /** Releases the log. Idempotent. If the owner was replaced, the new owner keeps the log. */
  release(): Promise<void>;
}
