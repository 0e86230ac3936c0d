import type { StorageFailure } from "../../errors/storageErrors.ts";
import type { LogCapabilities, LogWatch } from "../RecordLog.ts";

/**
 * The database interface of a `TableRecordLog`, with rows and conditional writes. The log encodes appends, which are
 * the records of one write, and handles checksums, leases and retries. Texts may contain any characters. Agent ids are
 * well-formed texts of up to 1,024 bytes.
 *
 * Each write is atomic. A write resolves when it is as durable as `capabilities.durable` declares. A method rejects
 * with any error if the database fails.
 */
export interface LogTable {
  /** The name of the database in errors, such as `SQLite`. */
  readonly name: string;
  readonly capabilities: LogCapabilities;
  /**
   * Classifies an error of the database. `unavailable` means that the call was possibly executed, so the log retries an
   * append. After any other failure, the ownership ends. If the method is missing, all errors are `unavailable`.
   */
  reasonOf?(error: unknown): StorageFailure;
  /** Returns advice for an error, as a sentence. Defaults to advice for the category of the failure. */
  adviceOn?(error: unknown): string | undefined;
  /** Stores the blobs of agents, and removes them together with their agent. If missing, pass a `BlobStore`. */
  readonly blobs?: TableBlobs;
  /** Returns the row of an agent. `undefined` for an agent that never had an owner. */
  head(agentId: string): Promise<TableHead | undefined>;
  /**
   * Makes a new owner and resolves to its generation, which starts at 1 and increases by one. If the agent has an
   * owner, succeeds only if `replaced` is this owner and the owner has not renewed its lease since. Otherwise resolves
   * to `undefined`. A {@link TableClaimed} includes the end of the log, which the log then need not read.
   */
  claim(agentId: string, claim: TableClaim, replaced?: TableSighting): Promise<number | TableClaimed | undefined>;
  /** Renews the owner's lease. Resolves to `undefined` if the agent has another owner or no owner. */
  renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined>;
  /** Removes the owner if this generation still owns the agent. */
  release(agentId: string, generation: number): Promise<void>;
  /** Stores a stop reason, which `renew` returns to the owner of this generation, but never to a later owner. */
  requestStop(agentId: string, generation: number, reason: string): Promise<void>;
  /**
   * Stores an append and its summary. Resolves to `false` without a change if this generation no longer owns the agent,
   * or if the append does not directly follow the last one.
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
  /** Returns a page of the appends in a range, in ascending order. Only removed positions are missing. */
  rows(agentId: string, range: TableRange): Promise<TablePage>;
  /** Returns the positions of all appends with `pruned: true`, in ascending order. */
  pruned(agentId: string): Promise<TablePruned>;
  /** Removes appends if this generation still owns the agent. Otherwise resolves to `false`. */
  remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean>;
  /**
   * Removes the owner and all data of the agent, including staged appends and blobs. Resolves to `false` without a
   * change if this generation no longer owns the agent. The agent keeps its generation number. The position of the last
   * append becomes the `start` of the next log.
   */
  drop(agentId: string, generation: number): Promise<boolean>;
  /** Called when this process ends an ownership, so that the table can forget data of the owner in memory. */
  ended?(agentId: string, generation: number): void;
  /**
   * Stores appends of another log for the empty agent, but no other method returns them before `publish`. Resolves to
   * `false` if this generation no longer owns the agent. If the method is missing, the log cannot import agents.
   *
   * @param first - `true` for the first of several calls, which discards earlier staged appends.
   */
  stage?(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean>;
  /**
   * Makes the staged appends the log of the agent, adds one more append with its summary, and changes the generation of
   * the owner, in one atomic write. Resolves to `false` if `generation` no longer owns the agent.
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

/** The owner of an agent, as a process last read it. */
export interface TableSighting {
  readonly generation: number;
  /** The `beat` of the last `claim` or `renew`, which changes with each renewal of the lease. */
  readonly beat: string;
}

export interface TableClaim {
  /** Identifies the owner. */
  readonly owner: string;
  readonly beat: string;
}

/** The result of a claim that includes the end of the log. */
export interface TableClaimed {
  readonly generation: number;
  /** The result of {@link LogTable.rows} with `last: true`, read after the claim. */
  readonly last: TablePage;
}

/** The row of an agent. */
export interface TableHead extends TableSighting {
  /** The value from `claim`. `undefined` if the agent has no owner. */
  readonly owner?: string | undefined;
  /**
   * Milliseconds since the last `claim` or `renew`, by the clock of the database. Processes also measure this time, in
   * case the clock is set back. If omitted, a process waits a full lease for an owner that it sees for the first time.
   */
  readonly idleMs?: number | undefined;
  /** The reason of `requestStop` for this owner. `undefined` without a request, or if only `renew` returns it. */
  readonly stop?: string | undefined;
}

export interface TableRenewal {
  /** The reason of `requestStop`. `undefined` without a request. */
  readonly stop?: string | undefined;
}

export interface TableRow {
  readonly position: number;
  /** The encoded append, which must be returned byte for byte. */
  readonly encoded: Uint8Array;
}

export interface TableAppend extends TableRow {
  /** Whether the append contains a snapshot, so that a reader may start here. */
  readonly snapshot: boolean;
  /** Whether the append has a record that names removed appends. */
  readonly pruned: boolean;
  /** Replaces the previous summary. If omitted, the previous summary stays. */
  readonly summary?: TableSummary | undefined;
}

export interface TableCreation {
  readonly agentId: string;
  readonly append: TableAppend;
}

/** The data that {@link LogTable.publish} stores with the staged appends. */
export interface TablePublication {
  readonly generation: number;
  /** See {@link TablePage.start}. */
  readonly start: number;
  /** The append that follows the staged appends. */
  readonly append: TableAppend;
}

/** The summary of an agent, with the columns that select and sort agents in lists. */
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

export interface TableRange {
  /** Selects appends after this position. */
  readonly after: number;
  /** Selects appends up to this position, inclusive. Defaults to all. */
  readonly upTo?: number | undefined;
  /** Starts at the newest append with `snapshot: true` in the range, or after `after` if there is none. */
  readonly sinceSnapshot?: boolean | undefined;
  /** Selects only the last append of the range. */
  readonly last?: boolean | undefined;
}

/** A page of appends. The table chooses the size of a page: at least one append, and at most a few megabytes. */
export interface TablePage {
  /** The position of the last append before the agent was dropped, or 0. */
  readonly start: number;
  readonly rows: readonly TableRow[];
  /** Whether the range may contain more appends. */
  readonly more: boolean;
  /** The position of the last append, if stored separately. A log that ends at another position is damaged. */
  readonly end?: number | undefined;
  /** The positions that {@link LogTable.pruned} returns. If omitted, the log calls that method. */
  readonly pruned?: readonly number[] | undefined;
}

/** The positions of the appends that name removed appends. */
export interface TablePruned {
  /** See {@link TablePage.start}. */
  readonly start: number;
  readonly positions: readonly number[];
}

/** A range of positions, inclusive. */
export type TableGap = readonly [first: number, last: number];

/** Selects the agents to list. A table may return other agents too, in list order, because the log filters again. */
export interface TableSelection {
  /** Distinct statuses. Defaults to all. */
  readonly statuses?: readonly string[] | undefined;
  /** Selects agents that are due at this time or earlier, in milliseconds since 1970. */
  readonly dueBefore?: number | undefined;
  /** Selects agents whose summary is from this time or earlier, in milliseconds since 1970. */
  readonly updatedBefore?: number | undefined;
  /** Selects agents after this entry of the list. Without an id, selects agents after all agents with this `order`. */
  readonly after?: { readonly order: string; readonly agentId?: string | undefined } | undefined;
  readonly limit: number;
  /** Replaces `limit` if most of the next agents have an owner. Set for lists of agents without an owner. */
  readonly passingLimit?: number | undefined;
}

/** A page of a list. The table chooses the size of a page. */
export interface TableList {
  readonly agents: readonly TableListed[];
  /** Whether the list may contain more agents. */
  readonly more: boolean;
}

export interface TableListed extends Pick<TableSummary, "order" | "text"> {
  readonly agentId: string;
  /** The row of the agent, read together with its summary. */
  readonly head: TableHead;
}
