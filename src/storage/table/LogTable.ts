import type { StorageFailure } from "../../errors/storage/StorageError.ts";
import type { LogCapabilities, LogWatch } from "../RecordLog.ts";

/**
 * What a `TableRecordLog` needs of a database: rows, and writes that happen only if a condition holds. Encoding, checksums,
 * leases and retries are not its business. Texts are any text, and an agent id is any well-formed text of up to 1,024 bytes.
 *
 * A method carries out its write as a whole or not at all, and resolves once it is as durable as `capabilities.durable`
 * says. It rejects with any error when the database fails.
 */
export interface LogTable {
  /** What errors call the database, such as `SQLite`. */
  readonly name: string;
  readonly capabilities: LogCapabilities;
  /**
   * What an error of the database means. `unavailable`: the call may have been carried out, and an append is asked for again.
   * Anything else ends the ownership at once. Absent: `unavailable`.
   */
  reasonOf?(error: unknown): StorageFailure;
  /** What to do about an error of the database, in a sentence. Absent, or `undefined`: what helps against its reason. */
  adviceOn?(error: unknown): string | undefined;
  /** Blobs of agents, removed with their agent. Absent: the log is given a `BlobStore`. */
  readonly blobs?: TableBlobs;
  /** What the row of an agent says; `undefined` for an agent that was never claimed. */
  head(agentId: string): Promise<TableHead | undefined>;
  /**
   * Makes a new owner, and resolves to its generation: one above the last, from 1 on. Only if the agent has no owner, or
   * only if its owner is still the one `replaced` names and has not renewed since. Otherwise resolves to `undefined`.
   */
  claim(agentId: string, claim: TableClaim, replaced?: TableSighting): Promise<number | undefined>;
  /** Keeps the sign of life of an owner. `undefined` if the agent has another one, or none. */
  renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined>;
  /** Takes the owner away, if it is still the one of this generation. */
  release(agentId: string, generation: number): Promise<void>;
  /** Keeps the reason for the owner of this generation, who gets it from `renew`. Another owner never gets it. */
  requestStop(agentId: string, generation: number, reason: string): Promise<void>;
  /**
   * Stores an append, with its summary, if the owner is still the one of this generation and the last append has the position
   * before it. Otherwise stores nothing and resolves to false.
   */
  append(agentId: string, generation: number, append: TableAppend): Promise<boolean>;
  /** Some of the appends in a range, in ascending order, without gaps but where appends were removed. */
  rows(agentId: string, range: TableRange): Promise<TablePage>;
  /** The positions of all appends with `pruned: true`, in ascending order. */
  pruned(agentId: string): Promise<TablePruned>;
  /** Removes appends, if the owner is still the one of this generation; otherwise resolves to false. */
  remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean>;
  /**
   * Removes all appends, also staged ones, the summary, the blobs and the owner, if the owner is still the one of this
   * generation; otherwise resolves to false. The generation stays, and the position of the last append becomes the `start`
   * of the next log.
   */
  drop(agentId: string, generation: number): Promise<boolean>;
  /**
   * Keeps appends of another log for an agent that has none, where no other method finds them, if the owner is still the one
   * of this generation; otherwise resolves to false. Absent: the log takes no lines of another.
   *
   * @param first true for the first of several calls: what was kept before is forgotten.
   */
  stage?(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean>;
  /**
   * Makes the staged appends the log of the agent, with one more append and its summary, under another generation of the same
   * owner: all in one step, if the owner is still the one of this generation; otherwise resolves to false.
   */
  publish?(agentId: string, generation: number, published: TablePublication): Promise<boolean>;
  /** Agents with a summary, sorted by the UTF-8 bytes of their `order`, then by those of their id. */
  list(selection: TableSelection): Promise<TableList>;
  /**
   * As `RecordLog.watch`: tells of each `release` in any process. Absent: the log tells of those in this process only, of the
   * owners that it has itself.
   */
  watch?(onChange: () => void): Promise<LogWatch>;
}

/** The blobs of a `LogTable`: an agent never sees those of another. */
export interface TableBlobs {
  put(agentId: string, reference: string, bytes: Uint8Array): Promise<void>;
  get(agentId: string, reference: string): Promise<Uint8Array | undefined>;
  delete(agentId: string, reference: string): Promise<void>;
  /** Gives a blob to another agent. False: there is none. */
  copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean>;
}

/** An owner as others last saw it. */
export interface TableSighting {
  readonly generation: number;
  /** The sign of life, as `claim` or the last `renew` gave it. */
  readonly beat: string;
}

/** What a new owner writes. */
export interface TableClaim {
  /** Text that tells who it is. */
  readonly owner: string;
  readonly beat: string;
}

/** The row of an agent. */
export interface TableHead extends TableSighting {
  /** As `claim` gave it. Absent: the agent has no owner. */
  readonly owner?: string | undefined;
  /**
   * Milliseconds since the last `claim` or `renew`, by the clock of the database. Absent: each process finds out by its own
   * clock, and waits a whole lease for an owner that it sees for the first time.
   */
  readonly idleMs?: number | undefined;
  /** The reason of `requestStop` for this owner. Absent: nobody asked, or only `renew` tells. */
  readonly stop?: string | undefined;
}

/** What an owner learns when it renews. */
export interface TableRenewal {
  /** The reason of `requestStop`. Absent: nobody asked. */
  readonly stop?: string | undefined;
}

/** One append as the table keeps it. */
export interface TableRow {
  readonly position: number;
  /** The encoded append, to be given back byte for byte. */
  readonly line: Uint8Array;
}

/** An append to store. */
export interface TableAppend extends TableRow {
  /** Whether it has a snapshot: reading may begin here. */
  readonly snapshot: boolean;
  /** Whether it says which appends are removed from the log. */
  readonly pruned: boolean;
  /** Takes the place of the summary before. Absent: that one stays. */
  readonly summary?: TableSummary | undefined;
}

/** What a log becomes that takes the appends of another. */
export interface TablePublication {
  /** The generation of the owner from now on. */
  readonly generation: number;
  /** As {@link TablePage.start}. */
  readonly start: number;
  /** The append after the staged ones. */
  readonly append: TableAppend;
}

/** What a list finds an agent by, and what it shows. */
export interface TableSummary {
  readonly status: string;
  readonly order: string;
  /** Milliseconds since 1970. Absent: never. */
  readonly dueAt?: number | undefined;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
  /** To be given back as it is. */
  readonly text: string;
}

/** Which appends to give. */
export interface TableRange {
  /** Only appends behind this position. */
  readonly after: number;
  /** Only appends up to this position, inclusive. Absent: all. */
  readonly upTo?: number | undefined;
  /** Only from the newest append with `snapshot: true` in the range on; from `after` on if there is none. */
  readonly sinceSnapshot?: boolean | undefined;
  /** Only the last append of the range. */
  readonly last?: boolean | undefined;
}

/** A part of a range. Tables choose its size: a page should take a few megabytes at most, but has one append at least. */
export interface TablePage {
  /** The position of the last append before the agent was dropped; 0 for an agent that never was. */
  readonly start: number;
  readonly rows: readonly TableRow[];
  /** Whether appends of the range may follow. */
  readonly more: boolean;
  /**
   * The position that the last append of the log had when it was stored, if the table keeps it beside the appends: a log
   * that ends elsewhere is damaged. Absent: unknown.
   */
  readonly end?: number | undefined;
  /** What {@link LogTable.pruned} would give at the same moment. Absent: it is asked. */
  readonly pruned?: readonly number[] | undefined;
}

/** Where appends are that name removed ones. */
export interface TablePruned {
  /** As {@link TablePage.start}. */
  readonly start: number;
  readonly positions: readonly number[];
}

/** Positions from the first to the last, inclusive. */
export type TableGap = readonly [first: number, last: number];

/** Which agents to list. A table may give more than those, in the right order: the log selects again. */
export interface TableSelection {
  /** Absent: any. Each is named once. */
  readonly statuses?: readonly string[] | undefined;
  /** Milliseconds since 1970: only agents that are due then or earlier. */
  readonly dueBefore?: number | undefined;
  /** Milliseconds since 1970: only agents whose summary is from then or earlier. */
  readonly updatedBefore?: number | undefined;
  /** Only agents behind this place; without an id, behind all that have this `order`. */
  readonly after?: { readonly order: string; readonly agentId?: string | undefined } | undefined;
  /** The most agents to give. */
  readonly limit: number;
  /**
   * So many may be given in place of `limit` where most of the next agents have an owner: a list of those that are free
   * passes over them. Absent: `limit` holds.
   */
  readonly passingLimit?: number | undefined;
}

/** A part of a list. Tables choose its size. */
export interface TableList {
  readonly agents: readonly TableListed[];
  /** Whether agents may follow. */
  readonly more: boolean;
}

/** An agent in a list. */
export interface TableListed extends Pick<TableSummary, "order" | "text"> {
  readonly agentId: string;
  /** The row of the agent, read with its summary. */
  readonly head: TableHead;
}
