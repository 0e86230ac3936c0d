import type { StoredValue } from "../values/valueCodec.ts";

/**
 * A line of history begins, as the state at checkpoint `from`: all of it, only its messages, or nothing of it.
 * `from` is the parent of the lane's first checkpoint; absent for the first lane of a log.
 */
export interface LaneRecord {
  readonly kind: "lane";
  readonly lane: number;
  readonly from?: number;
  readonly keep: "all" | "history" | "nothing";
}

export interface MessageRecord {
  readonly kind: "message";
  readonly lane: number;
  readonly number: number;
  readonly message: StoredValue;
}

/** Numbered messages leave, others come in before number `before`, or at the end. */
export interface EditRecord {
  readonly kind: "edit";
  readonly lane: number;
  readonly remove: readonly (readonly [number, number])[];
  readonly insert: readonly { readonly number: number; readonly message: StoredValue }[];
  readonly before?: number;
  /** What leaves was shortened, and what comes in stands for it: whoever wants the originals passes over this edit. */
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
  /** Where relative paths begin. Absent: nobody has looked at the environment. */
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

/** The structure of the strategy from here on; stored whole once for each fingerprint. */
export interface StructureRecord {
  readonly kind: "structure";
  readonly lane: number;
  readonly fingerprint: string;
  readonly structure?: StoredValue;
}
