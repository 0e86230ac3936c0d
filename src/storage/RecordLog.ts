import type { TornTail } from "../checkpoint/format/TornTail.ts";
import type { Entry } from "../checkpoint/records/Entry.ts";
import type { CorruptLogError } from "../errors/storage/CorruptLogError.ts";
import type { FileReservation } from "../checkpoint/status/FileReservation.ts";
import type { BlobStore } from "./BlobStore.ts";

/** What a storage can carry. Differences between backends are stated here and nowhere else. */
export interface LogCapabilities {
  /** True when an acknowledged append survives the end of the process; false for a storage in memory. */
  readonly durable: boolean;
  /** `"many"` when the storage distinguishes two processes that use it at once; `"one"` leaves that to the caller. */
  readonly processes: "one" | "many";
  /** `"many"` when processes on several machines may use it at once. */
  readonly machines: "one" | "many";
  /** What of an agent is there when it is opened again. Absent: every record; else nothing can wait for an answer on it. */
  readonly keeps?: "checkpoints" | "nothing";
  /**
   * `"exact"`: a list shows each agent as it is. `"eventual"`: it may for a while omit an agent or show an older summary.
   * Absent: the storage cannot tell which agents it has, and its lists are empty.
   */
  readonly listing?: "exact" | "eventual";
  /**
   * `list` selects by every option, and reads little besides what it yields. Absent: it selects by one `status`, `after` and
   * `limit` alone, and the library does the rest.
   */
  readonly narrows?: true;
  /**
   * The folder that the storage keeps its files in, as an absolute path: a workspace around it leaves it alone. Absent: it
   * has none on this machine.
   */
  readonly folder?: string;
}

/** Who owns a log. `nonce` is random, so that two owners in one process differ. */
export interface LogOwner {
  readonly host: string;
  readonly processId: number;
  readonly nonce: string;
  /**
   * What tells this process from every other on its machine: boot, namespaces and start, as `incarnationOf` says them. With
   * it, a process on the same machine takes over at once when this one has been killed. Absent: the storage finds out what
   * the system says of its own process, where it can; else a killed owner is replaced after a lease.
   */
  readonly incarnation?: string;
}

/** The state of an owner: `alive`, `gone` (its process has surely ended) or `silent` (it has not renewed for a lease). */
export type OwnerState = "alive" | "gone" | "silent";

/** A picture of an agent's status that was damaged or belonged to another agent. It was written anew from the log. */
export interface RebuiltSummary {
  /** The file, or the part of the storage, that holds it. */
  readonly file: string;
}

/** How a log ends, as far as its bytes tell. */
export interface LogEnd {
  /**
   * Whether its last owner has closed it, and it ends where that owner says. If not, appends that are missing after the
   * last one cannot be told from appends that were never made.
   */
  readonly closed: boolean;
  /** What is there of an append after the last whole one. Absent: nothing. */
  readonly tornTail?: TornTail;
}

/** One agent as a list shows it: a picture of its status, written when the status changes, never per checkpoint. */
export interface AgentSummary {
  /** Of an agent that cannot be read: its id where that is known, else the name that the storage has for it. */
  readonly agentId: string;
  /** `unreadable` for an agent whose status cannot be read: `data` then says why, as `{ code, message }` of an error. */
  readonly status: string;
  /** What `list` sorts by, compared by the bytes of its UTF-8. Never empty, and no two agents have the same. */
  readonly order: string;
  /** ISO 8601; when something about the agent falls due. */
  readonly dueAt?: string;
  /** Ids of the requests it waits for. */
  readonly requestIds: readonly string[];
  /** The position of the append that this summary reflects. */
  readonly position: number;
  readonly runId?: string;
  /** The name of the task that the agent was created as. Absent: it was run without one. */
  readonly taskName?: string;
  /** The priority of the task. Absent: 0, or no task. */
  readonly priority?: number;
  /** What the task was asked for, in its stored form. Absent: `data` has it, or it is no task. */
  readonly inputRequest?: unknown;
  /** The files that the task reads and writes. Absent: it is no task, or an earlier version wrote the summary. */
  readonly reserves?: readonly FileReservation[];
  /**
   * How often the task was begun or continued since it last got further, at most: what it recorded since makes it fewer.
   * Absent: as for `reserves`.
   */
  readonly attempts?: number;
  /**
   * How many checkpoints there are, at most; while the agent is in progress it makes more. Absent: unknown, as while a
   * pruning is unfinished, for a new fork, and where an earlier version wrote the summary.
   */
  readonly checkpoints?: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly updatedAt: string;
  /** The data of that status: plain JSON, with values in their stored form. */
  readonly data: unknown;
}

/** Which agents to list, in which part of the order. An agent must fit every option that is given. Default: all agents. */
export interface ListOptions {
  /** Only agents in this status, or in one of these. */
  readonly status?: string | readonly string[];
  /** Only agents that no living owner has. */
  readonly free?: true;
  /** ISO 8601: only agents that fall due then or earlier. */
  readonly dueBefore?: string;
  /** ISO 8601: only agents whose status last changed then or earlier. */
  readonly updatedBefore?: string;
  /** Only agents behind this `order`. */
  readonly after?: string;
  /** The most agents to yield. Default: no limit. */
  readonly limit?: number;
  /** The list must change nothing, not even an index that makes later lists faster. */
  readonly readOnly?: true;
}

/** What is appended at once: all of it or nothing. */
export interface LogAppend {
  /** Unique in the log. The same id at the same position again is acknowledged, not refused. */
  readonly id: string;
  /** Plain JSON. Must not be changed by the storage nor kept without a copy. */
  readonly records: Entry["records"];
  /** The new summary, when the status changed. Its `position` is set by the log. */
  readonly summary?: AgentSummary;
  /** True when the records hold a snapshot: reading may begin here. */
  readonly snapshot?: boolean;
}

/** Which entries to read. */
export interface ReadOptions {
  /** Only entries at a higher position. */
  readonly after?: number;
  /** Only entries up to this position, inclusive. */
  readonly upTo?: number;
  /** Begin at the newest snapshot that is not behind `upTo`, if there is one. */
  readonly sinceSnapshot?: boolean;
}

/** What {@link RecordLog.watch} gives. */
export interface LogWatch {
  /** Nothing is told any more. */
  close(): Promise<void>;
}

/** Appends of a log as they are stored, for {@link RecordLog.receive}. */
export interface StoredLines {
  /** What {@link RecordLog.lines} yields: oldest first, at least one. */
  readonly lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** The generation of the last of them: no other has a higher one. At most 2^40. */
  readonly generation: number;
}

/**
 * The full contract of a storage: one append-only, totally ordered log per agent, with one owner at a time.
 * An author of a backend writes this; everything else (folding, codec, blobs over the threshold) is core's.
 */
export interface RecordLog {
  readonly version: "v1";
  readonly capabilities: LogCapabilities;
  readonly blobs: BlobStore;
  /** Takes ownership. Never waits: rejects with `AgentBusyError` while another owner is alive. */
  open(agentId: string, owner: LogOwner): Promise<OwnedLog>;
  /**
   * Oldest first, without the positions that a stored `pruned` record names. Needs no ownership and writes nothing. An
   * agent never seen has no entries.
   *
   * @throws CorruptLogError in place of an entry whose stored bytes were changed.
   */
  read(agentId: string, options?: ReadOptions): AsyncIterable<Entry>;
  /**
   * Sorted by `order`. Never omits an agent that is in the status asked for, and never fails because of
   * one agent: one whose status cannot be read is in the status `unreadable`. An agent that moves from one of the statuses
   * asked for to another meanwhile may be omitted. Where `unreadable` is one of several statuses, a log that narrows need
   * not look at agents that were last seen in another.
   */
  list(options?: ListOptions): AsyncIterable<AgentSummary>;
  /**
   * How many bytes still exist of appends that a durable `pruned` record names. More than 0 if a crash or a failure
   * prevented their removal. Writes nothing. Absent: the storage cannot tell, and the next pruning removes such bytes.
   */
  unremovedBytes?(agentId: string): Promise<number>;
  /**
   * The appends of an agent as they are stored, oldest first: each is the line that its checksum covers, as UTF-8 without a
   * line break, with what the storage keeps in it beside the records. Positions that a stored `pruned` record names are
   * left out. Each has bytes of its own, which nobody changes afterwards. Needs no ownership and writes nothing. An agent
   * never seen has none. Absent: the agents of this storage can neither be forked nor be moved.
   *
   * @param options.upTo only appends up to this position, inclusive. Default: all that are there when reading begins.
   * @throws CorruptLogError in place of a line whose stored bytes were changed.
   */
  lines?(agentId: string, options?: { readonly upTo?: number }): AsyncIterable<Uint8Array>;
  /**
   * Makes an agent of the lines of another log, and owns it. The lines are stored byte for byte, so positions, checksums
   * and generations stay; one append follows them. All or nothing: until it resolves the agent has no entries and is in no
   * list, whatever crashes. The lines are asked for while the agent is owned, one at a time. Absent: no agent can be forked
   * or moved to this storage.
   *
   * @param last gives the append that follows the lines. `position` is that of the last line; `generation` is the owner's,
   *   higher than those of all lines and of all owners of this agent before. The append needs a summary.
   * @returns the log, at the position of the last append.
   * @throws AlreadyExistsError (`agent_exists`) when the agent has entries; AgentBusyError while it has another owner;
   *   CorruptLogError when a line is damaged, does not follow the one before or has too high a generation.
   */
  receive?(
    agentId: string,
    owner: LogOwner,
    received: StoredLines,
    last: (end: { readonly generation: number; readonly position: number }) => LogAppend | PromiseLike<LogAppend>,
  ): Promise<OwnedLog>;
  /** How the log of an agent ends. Writes nothing. Absent: the storage cannot tell. @throws CorruptLogError */
  end?(agentId: string): Promise<LogEnd>;
  /** The owner and its state; `undefined` when the log is free. Does not take ownership. */
  owner(agentId: string): Promise<(LogOwner & { readonly generation: number; readonly state: OwnerState }) | undefined>;
  /** Asks the owner to stop, in whichever process it runs. `OwnedLog.lost` aborts, at the latest at the owner's next renewal. */
  requestStop(agentId: string, reason: string): Promise<void>;
  /**
   * Calls a function soon after an owner gave its agent back: a task may wait for a worker then. It may be called without a
   * cause, and calls may be late or missing, so whoever watches also looks from time to time. An owner that is killed gives
   * nothing back. Absent: nothing is told.
   *
   * @param onChange must not throw.
   */
  watch?(onChange: () => void): Promise<LogWatch>;
  /**
   * Gives up a small reserve of space, for a caller that is about to delete something on a full device. False: there is
   * none. Absent: the storage keeps none.
   */
  makeRoom?(): Promise<boolean>;
  /** Releases everything held. Further calls reject with `StorageClosedError`. */
  close(): Promise<void>;
}

/** A log that this process owns. */
export interface OwnedLog {
  /** The position of the last append; 0 for an empty log. */
  readonly position: number;
  /** Grows with every change of owner: the fencing token. */
  readonly generation: number;
  /** What a crash left of an append that this open passed over; absent: nothing. */
  readonly tornTail?: TornTail | undefined;
  /** What this open found wrong with the end of the log: it takes no append, and may be dropped. Absent: nothing. */
  readonly damage?: CorruptLogError | undefined;
  /** The picture of the agent's status that this open found damaged; absent: none. */
  readonly rebuilt?: RebuiltSummary | undefined;
  /**
   * Aborted when the log is no longer this process's to write: taken over (the reason is an `OwnershipLostError`) or
   * asked to stop (the reason is a `StopRequestedError`).
   */
  readonly lost: AbortSignal;
  /**
   * Appends and resolves to the new position once durable, in a later turn of the event loop: a storage that resolved at
   * once would let no timer and no signal run between the steps of an agent. Rejects with `PositionConflictError` when `expectedPosition`
   * is not the position of the last append, with `OwnershipLostError` when another owner has taken over (the outcome is
   * then unknown), and with a `StorageError` when the storage failed (after which every further append rejects).
   */
  append(entry: LogAppend, expectedPosition: number): Promise<number>;
  /**
   * Looks whether the owner was asked to stop, without waiting for the next renewal: if so, `lost` is aborted when it resolves.
   * Cheap enough to be called a few times a second. An owner that keeps a log open but has nothing to do calls it, so that
   * another can have the log at once. Absent: the owner learns of it at its next renewal.
   */
  checkStop?(): Promise<void>;
  /**
   * Removes the bytes of all appends that durable `pruned` records name, and of no others. Rejects when another owner has
   * taken over.
   */
  prune(): Promise<void>;
  /**
   * Removes the agent. Positions and generations continue to count if its id is used again, and `prev` begins empty. Rejects
   * when another owner has taken over.
   */
  drop(): Promise<void>;
  /** Gives the log back. Idempotent. Of an owner that was replaced, it leaves the next one in place. */
  release(): Promise<void>;
}
