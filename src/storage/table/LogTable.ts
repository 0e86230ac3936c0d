import type { StorageFailure } from "../../errors/storageErrors.ts";
import type { LogCapabilities, LogWatch } from "../RecordLog.ts";

/**
 * The database interface of a `TableRecordLog`, with rows and conditional writes. The log handles encoding, checksums,
 * leases and retries. Texts may contain any characters. Agent ids are well-formed texts of up to 1,024 bytes.
 *
 * Each write is atomic. It resolves when it is as durable as `capabilities.durable` declares. A method rejects with any
 * error if the database fails.
 */
export interface LogTable {
  /** The name of the database in errors, such as `SQLite`. */
  readonly name: string;
  readonly capabilities: LogCapabilities;
  /**
   * Classifies an error of the database. `unavailable` means that the call may have been executed. In this case, the
   * log retries an append. Any other failure ends the ownership immediately. If the method is missing, all errors are
   * `unavailable`.
   */
  reasonOf?(error: unknown): StorageFailure;
  /**
   * Returns advice for an error of the database, as a sentence. If the method returns `undefined` or is missing, the
   * message has the advice for the category of the failure.
   */
  adviceOn?(error: unknown): string | undefined;
  /** Stores the blobs of agents, and removes them together with their agent. If it is missing, pass a `BlobStore`. */
  readonly blobs?: TableBlobs;
  /** Returns the row of an agent. `undefined` for an agent that was never claimed. */
  head(agentId: string): Promise<TableHead | undefined>;
  /**
   * Creates a new owner and resolves to its generation. Generations start at 1 and increase by one. Succeeds only if
   * the agent has no owner. With `replaced`, succeeds only if that owner is still current and has not renewed its lease
   * since. If it does not succeed, resolves to `undefined`. May resolve to a {@link TableClaimed}, so that the log need
   * not read its own end.
   */
  claim(agentId: string, claim: TableClaim, replaced?: TableSighting): Promise<number | TableClaimed | undefined>;
  /** Renews the owner's lease. Resolves to `undefined` if the agent has another owner or no owner. */
  renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined>;
  /** Removes the owner if this generation still owns the agent. */
  release(agentId: string, generation: number): Promise<void>;
  /**
   * Stores a stop reason for the owner of this generation. `renew` returns this reason. Later owners never receive it.
   */
  requestStop(agentId: string, generation: number, reason: string): Promise<void>;
  /**
   * Stores an append and its summary if this generation still owns the agent and the append directly follows the last
   * one. Otherwise stores no data and resolves to `false`.
   */
  append(agentId: string, generation: number, append: TableAppend): Promise<boolean>;
  /** Appends and removes the owner in one atomic write. Without this method, the log calls `append` and `release`. */
  appendAndRelease?(agentId: string, generation: number, append: TableAppend): Promise<boolean>;
  /**
   * Creates agents without an owner, with generation 1, their first append and its summary, in one atomic write. Skips
   * agents that were ever claimed. Resolves to the ids of the created agents. If the method is missing, agents are
   * created one at a time.
   *
   * @param agents - at most 100 distinct agents.
   */
  create?(agents: readonly TableCreation[]): Promise<readonly string[]>;
  /** Returns some of the appends in a range, in ascending order. Gaps occur only at removed appends. */
  rows(agentId: string, range: TableRange): Promise<TablePage>;
  /** Returns the positions of all appends with `pruned: true`, in ascending order. */
  pruned(agentId: string): Promise<TablePruned>;
  /** Removes appends if this generation still owns the agent. Otherwise resolves to `false`. */
  remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean>;
  /**
   * Removes the owner and all data of the agent, including staged appends and blobs, if this generation still owns the
   * agent. Otherwise resolves to `false`. Keeps the generation, and the position of the last append becomes the `start`
   * of the next log.
   */
  drop(agentId: string, generation: number): Promise<boolean>;
  /**
   * Called when this process ends an ownership, also after a failure without `release` or `drop`. The table can then
   * forget data that it keeps in memory for this owner.
   */
  ended?(agentId: string, generation: number): void;
  /**
   * If this generation still owns the agent, stores appends of another log for the empty agent. No other method returns
   * these appends. Otherwise resolves to `false`. If the method is missing, the log cannot receive lines.
   *
   * @param first - `true` for the first of several calls, which discards earlier staged appends.
   */
  stage?(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean>;
  /**
   * Atomically turns the staged appends into the log of the agent, adds one more append with its summary, and changes
   * the generation of the owner. Requires that this generation still owns the agent. Otherwise resolves to `false`.
   */
  publish?(agentId: string, generation: number, published: TablePublication): Promise<boolean>;
  /** Lists agents with a summary, sorted by the UTF-8 bytes of their `order`, then of their id. */
  list(selection: TableSelection): Promise<TableList>;
  /** Reports each `release` in any process. Without this method, the log reports only releases in its own process. */
  watch?(onChange: () => void): Promise<LogWatch>;
}

/** The blobs of a `LogTable`. An agent can never access blobs of another agent. */
export interface TableBlobs {
  put(agentId: string, reference: string, bytes: Uint8Array): Promise<void>;
  get(agentId: string, reference: string): Promise<Uint8Array | undefined>;
  delete(agentId: string, reference: string): Promise<void>;
  /** Copies a blob to another agent. Resolves to `false` if the blob is missing. */
  copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean>;
}

/** An observed state of an owner. */
export interface TableSighting {
  readonly generation: number;
  /** The value of the last `claim` or `renew`. */
  readonly beat: string;
}

/** The data of a new owner. */
export interface TableClaim {
  /** Identifies the owner. */
  readonly owner: string;
  readonly beat: string;
}

/** The result of a claim that includes the end of the log. */
export interface TableClaimed {
  readonly generation: number;
  /** The result of {@link LogTable.rows} with `last` after the claim. */
  readonly last: TablePage;
}

/** The row of an agent. */
export interface TableHead extends TableSighting {
  /** The value from `claim`. `undefined` if the agent has no owner. */
  readonly owner?: string | undefined;
  /**
   * The milliseconds since the last `claim` or `renew`, by the clock of the database. Each process also measures the
   * time itself, because this clock may be set back. If omitted, a process waits a full lease for an owner that it sees
   * for the first time.
   */
  readonly idleMs?: number | undefined;
  /** The reason of `requestStop` for this owner. `undefined` without a request, or if only `renew` returns it. */
  readonly stop?: string | undefined;
}

/** The result of a renewal. */
export interface TableRenewal {
  /** The reason of `requestStop`. `undefined` without a request. */
  readonly stop?: string | undefined;
}

/** A stored append. */
export interface TableRow {
  readonly position: number;
  /** The encoded append, which must be returned byte for byte. */
  readonly encoded: Uint8Array;
}

/** An append to store. */
export interface TableAppend extends TableRow {
  /** Whether the append contains a snapshot, so that a reader may start here. */
  readonly snapshot: boolean;
  /** Whether the append names removed appends. */
  readonly pruned: boolean;
  /** Replaces the previous summary. If omitted, the previous summary stays. */
  readonly summary?: TableSummary | undefined;
}

/** An agent to create. */
export interface TableCreation {
  readonly agentId: string;
  /** The append at position 1. */
  readonly append: TableAppend;
}

/** The result of receiving another log. */
export interface TablePublication {
  /** The new generation of the owner. */
  readonly generation: number;
  /** See {@link TablePage.start}. */
  readonly start: number;
  /** The append after the staged ones. */
  readonly append: TableAppend;
}

/** The list columns of an agent and its summary. */
export interface TableSummary {
  readonly status: string;
  readonly order: string;
  /** In milliseconds since 1970. `undefined` if the agent has no due time. */
  readonly dueAt?: number | undefined;
  /** In milliseconds since 1970. */
  readonly updatedAt: number;
  /** The encoded summary, which must be returned unchanged. */
  readonly text: string;
}

/** Selects appends. */
export interface TableRange {
  /** Selects appends after this position. */
  readonly after: number;
  /** Selects appends up to this position, inclusive. Defaults to all. */
  readonly upTo?: number | undefined;
  /** Starts at the newest append with `snapshot: true` in the range. Without such an append, starts after `after`. */
  readonly sinceSnapshot?: boolean | undefined;
  /** Selects only the last append of the range. */
  readonly last?: boolean | undefined;
}

/** A part of a range, sized by the table: at least one append, and at most a few megabytes. */
export interface TablePage {
  /** The position of the last append before the agent was dropped, or 0. */
  readonly start: number;
  readonly rows: readonly TableRow[];
  /** Whether the range may contain more appends. */
  readonly more: boolean;
  /**
   * The position of the last append, if the table stores it separately. If the log ends at another position, it is
   * damaged.
   */
  readonly end?: number | undefined;
  /** The result of {@link LogTable.pruned} at the same time. If omitted, the log calls that method. */
  readonly pruned?: readonly number[] | undefined;
}

/** The positions of appends that name removed ones. */
export interface TablePruned {
  /** See {@link TablePage.start}. */
  readonly start: number;
  readonly positions: readonly number[];
}

/** A range of positions, inclusive. */
export type TableGap = readonly [first: number, last: number];

/** Selects the agents to list. A table may return more in the correct order, because the log filters again. */
export interface TableSelection {
  /** Distinct statuses. Defaults to all. */
  readonly statuses?: readonly string[] | undefined;
  /** Selects agents that are due at this time or earlier, in milliseconds since 1970. */
  readonly dueBefore?: number | undefined;
  /** Selects agents whose summary is from this time or earlier, in milliseconds since 1970. */
  readonly updatedBefore?: number | undefined;
  /** Selects agents after this position. Without an id, selects agents after all agents with this `order`. */
  readonly after?: { readonly order: string; readonly agentId?: string | undefined } | undefined;
  /** The maximum number of agents. */
  readonly limit: number;
  /**
   * For lists that skip agents with an owner: the limit to use if most of the next agents have an owner. Defaults to
   * `limit`.
   */
  readonly passingLimit?: number | undefined;
}

/** A part of a list. The table chooses its size. */
export interface TableList {
  readonly agents: readonly TableListed[];
  /** Whether the list may contain more agents. */
  readonly more: boolean;
}

/** An agent in a list. */
export interface TableListed extends Pick<TableSummary, "order" | "text"> {
  readonly agentId: string;
  /** The row of the agent, read together with its summary. */
  readonly head: TableHead;
}
