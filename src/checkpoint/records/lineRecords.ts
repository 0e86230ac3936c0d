import type { StoredValue } from "../values/valueCodec.ts";
import type { ModelUsage } from "../tokenUsage/ModelUsage.ts";
import type { Visit } from "./Visit.ts";

/**
 * Starts a lane, which is a numbered sequence of records. The run, each branch and each sub-agent has a lane. A
 * rollback, a new run or another move continues on a new lane. `from` is the parent of the first checkpoint, if any.
 * `keep` names the state that the lane inherits. The first lane of a branch inherits the state at the parallel node.
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
 * Where a branch or sub-agent belongs in the lane `parent`. A branch is named by its key and the version of the
 * checkpoint of its parallel node, a sub-agent by the tool call that runs it.
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

/** Removes messages by number. Inserts other messages before the number `before`, or at the end. */
export interface EditRecord {
  readonly kind: "edit";
  readonly lane: number;
  readonly remove: readonly (readonly [number, number])[];
  readonly insert: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly before?: number;
  /** The inserted messages shorten the removed messages. Readers of the original messages skip this edit. */
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

/** The structure of the code from this record on. The log contains each structure once in full. */
export interface StructureRecord {
  readonly kind: "structure";
  readonly lane: number;
  readonly fingerprint: string;
  /** The digest of the whole `structure`, with schemas, tools and called agents. Earlier versions omit this field. */
  readonly code?: string;
  readonly version?: number;
  readonly structure?: StoredValue;
  /** The renames by migrations, in order. Earlier records of the same run or branch are read with the new names. */
  readonly renames?: readonly Renames[];
}

export interface Renames {
  readonly nodes: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, string>>;
}

export function structureKey({ code, fingerprint }: Pick<StructureRecord, "code" | "fingerprint">): string {
  return code ?? fingerprint;
}

/**
 * A point from which a run can continue, with the next node and its input. `id` is omitted if it is
 * `<generation>-<version>`. `visit` is omitted if a new execution of the node starts at the checkpoint.
 */
export interface CheckpointRecord {
  readonly kind: "checkpoint";
  readonly lane: number;
  readonly version: number;
  readonly id?: string;
  readonly at: number;
  readonly node: string;
  readonly input: StoredValue;
  readonly inputType?: string;
  /** True if `input` is the output of `node` and no edge accepted it. A resume then evaluates only the edges again. */
  readonly unresolved?: true;
  readonly visit?: Visit;
  readonly iteration: number;
  /** The tokens of all model requests of the run so far. `undefined` if unknown. */
  readonly usage?: ModelUsage;
  readonly progress?: number;
  readonly summary?: string;
  /** Marks the end of a run, with its output as `input`. */
  readonly status?: "completed" | "cancelled";
  readonly digest?: string;
  readonly reason?: string;
  readonly verification?: readonly StoredValue[];
  readonly files?: StoredValue;
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** The author of an edit, as stated by the caller and not verified. */
  readonly by?: string;
  /** Why the checkpoint was made. `undefined` at the start or end of a run, after a node, or for a move. */
  readonly trigger?: string;
  /** For an execution point: the calls whose effects remain. */
  readonly standing?: readonly string[];
  /** True at the end of a branch or sub-agent. `input` is the output. */
  readonly ended?: true;
  /** The version of the checkpoint at which the branches started. The results of these branches are merged next. */
  readonly joined?: number;
}

export interface CheckpointPoint {
  /** The given id. `<generation>-<version>` if no id was given, or if a later checkpoint has the same id. */
  readonly id: string;
  readonly generation: number;
  readonly version: number;
  readonly position: number;
  readonly runId: string;
  readonly parent: number | undefined;
  readonly record: CheckpointRecord;
  readonly order: number;
}
