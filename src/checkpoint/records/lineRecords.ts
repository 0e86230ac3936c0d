import type { StoredValue } from "../values/valueCodec.ts";

/**
 * A lane starts. A lane is a consecutive part of a line. Rollbacks, branches and new runs start new lanes. `keep`
 * selects the inherited state at checkpoint `from`: all of it, only its messages, all except its messages and their
 * sources (`state`), or none. `from` is the parent of the lane's first checkpoint. It is omitted for the first lane of
 * a log, a branch or a sub-agent. The first lane of a branch inherits the state at its fork.
 */
export interface LaneRecord {
  readonly kind: "lane";
  readonly lane: number;
  readonly from?: number;
  readonly keep: "all" | "history" | "state" | "nothing";
  readonly place?: LanePlace;
}

export interface LaneStart {
  readonly record: LaneRecord;
  readonly runId: string;
}

/**
 * The place of a nested line. `parent` is the lane that contains it.
 *
 * - A branch: `fork` is the version of the checkpoint of the parallel node on that lane, `branch` is the key of the
 * branch.
 * - A sub-agent: `call` is the tool call that it runs for.
 */
export type LanePlace =
  | { readonly parent: number; readonly fork: number; readonly branch: string }
  | { readonly parent: number; readonly call: string };

export function originOf(record: Pick<LaneRecord, "from" | "place">): number | undefined {
  return record.from ?? parallelStartOf(record);
}

export function parallelStartOf({ place }: Pick<LaneRecord, "place">): number | undefined {
  return place && "fork" in place ? place.fork : undefined;
}

export interface MessageRecord {
  readonly kind: "message";
  readonly lane: number;
  readonly number: number;
  readonly message: StoredValue;
}

/** Removes numbered messages, and inserts others before number `before` or at the end. */
export interface EditRecord {
  readonly kind: "edit";
  readonly lane: number;
  readonly remove: readonly (readonly [number, number])[];
  readonly insert: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly before?: number;
  /** The inserted messages are shorter forms of the removed ones. Readers of the original messages skip this edit. */
  readonly trim?: true;
}

/** Sets one key of the typed storage, or deletes it if `value` is missing. */
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
  /** The working directory. `undefined` if the environment was not checked. */
  readonly directory?: string;
  /** SHA-256 in hex of each checked file by path. `null` for a missing file. */
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

/** The structure of the code from here on. The log contains each structure completely once. */
export interface StructureRecord {
  readonly kind: "structure";
  readonly lane: number;
  readonly fingerprint: string;
  /** The digest of the whole `structure`, including schemas, tools and called agents. Earlier versions omit it. */
  readonly code?: string;
  readonly version?: number;
  readonly structure?: StoredValue;
  /** Renames by migrations, in order. Earlier records of the line are read with the new names. */
  readonly renames?: readonly Renames[];
}

export interface Renames {
  readonly nodes: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, string>>;
}

export function structureKey({ code, fingerprint }: Pick<StructureRecord, "code" | "fingerprint">): string {
  return code ?? fingerprint;
}
