import type { StoredValue } from "../values/valueCodec.ts";

/**
 * A lane begins, with the state at checkpoint `from`: all of it, only its messages, all but its messages and what they came
 * of (`state`), or nothing of it. `from` is the parent of the lane's first checkpoint; absent for the first lane of a log and
 * for the first lane of a place. The first lane of a branch begins with the state at its fork.
 */
export interface LaneRecord {
  readonly kind: "lane";
  readonly lane: number;
  readonly from?: number;
  readonly keep: "all" | "history" | "state" | "nothing";
  /** Which nested line the lane belongs to. Absent: the main line. */
  readonly place?: LanePlace;
}

/** The beginning of a lane, and the run that it is of. */
export interface LaneStart {
  readonly record: LaneRecord;
  readonly runId: string;
}

/**
 * The place of a nested line. `parent` is the lane of the line that it is nested in.
 *
 * - A branch: `fork` is the version of the checkpoint on that lane that names the parallel node, `branch` the branch's key.
 * - A sub-agent: `call` is the tool call that it runs for.
 */
export type LanePlace =
  | { readonly parent: number; readonly fork: number; readonly branch: string }
  | { readonly parent: number; readonly call: string };

/** The checkpoint that a lane begins from, by its version; `undefined` where it begins with nothing. */
export function originOf(record: Pick<LaneRecord, "from" | "place">): number | undefined {
  return record.from ?? forkOf(record);
}

/** The fork of the branch that a lane belongs to; `undefined` for a lane of another line. */
export function forkOf({ place }: Pick<LaneRecord, "place">): number | undefined {
  return place && "fork" in place ? place.fork : undefined;
}

export interface MessageRecord {
  readonly kind: "message";
  readonly lane: number;
  readonly number: number;
  readonly message: StoredValue;
}

/** Removes numbered messages, and inserts others before number `before`, or at the end. */
export interface EditRecord {
  readonly kind: "edit";
  readonly lane: number;
  readonly remove: readonly (readonly [number, number])[];
  readonly insert: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly before?: number;
  /** The inserted messages are shorter forms of the removed ones: a reader that wants the originals skips this edit. */
  readonly trim?: true;
}

/** One key of the typed storage; without `value` it is deleted. */
export interface StorageRecord {
  readonly kind: "storage";
  readonly lane: number;
  readonly key: string;
  readonly value?: StoredValue;
}

export interface SettingsRecord {
  readonly kind: "settings";
  readonly lane: number;
  readonly model: string;
  readonly parameters?: StoredValue;
  readonly tools: readonly string[];
}

export interface RequirementsRecord {
  readonly kind: "requirements";
  readonly lane: number;
  readonly files: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The working directory. Absent: the environment was not examined. */
  readonly directory?: string;
  /** SHA-256 in hex of each file that was looked at, by path; `null`: it was not there. Absent: none was. */
  readonly hashes?: Readonly<Record<string, string | null>>;
}

export interface DecisionRecord {
  readonly kind: "decision";
  readonly lane: number;
  readonly at: number;
  readonly node: string;
  readonly decision: string;
  readonly reason?: string;
}

/** The structure of the code from here on; stored whole once for each structure. */
export interface StructureRecord {
  readonly kind: "structure";
  readonly lane: number;
  /** The digest of the nodes and the edges of the strategy. */
  readonly fingerprint: string;
  /** The digest of all that `structure` covers: schemas, tools and called agents, too. Absent: an earlier version wrote the record. */
  readonly code?: string;
  /** The version of the strategy. Absent: 0. */
  readonly version?: number;
  readonly structure?: StoredValue;
  /** What migrations renamed, one after the other: what the line has recorded so far is read under the new names. Absent: nothing. */
  readonly renames?: readonly Renames[];
}

/** New names by the old ones: of nodes by path, of tools. */
export interface Renames {
  readonly nodes: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, string>>;
}
