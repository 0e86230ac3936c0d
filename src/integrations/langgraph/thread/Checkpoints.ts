import type { Fields } from "./fieldsChange.ts";
import type { CallRecord } from "./GraphRecord.ts";
import type { GraphValue } from "./GraphValue.ts";

/** The fields of a checkpoint other than its channel values. */
export interface PutFields {
  /** The id of the parent, or `undefined` for a root. */
  readonly parentId: string | undefined;
  readonly ts: string;
  readonly version: number;
  readonly meta: Fields;
  readonly versions: Fields;
  readonly seen: Fields;
  readonly more: Fields;
}

/** One stored version of a checkpoint. */
export interface StoredPut extends PutFields {
  readonly number: number;
  /** The position among all records of the thread. */
  readonly order: number;
  readonly entry: CheckpointEntry;
  /** The base of this put, which is stored as a difference. */
  parent: StoredPut | undefined;
  values: ReadonlyMap<string, GraphValue>;
  hidden: boolean;
}

export interface StoredWrite {
  readonly order: number;
  readonly task: string;
  readonly path: string;
  readonly index: number;
  readonly channel: string;
  readonly value: GraphValue;
}

export interface CheckpointEntry {
  readonly namespace: string;
  readonly id: string;
  /** The last put of this id, or `undefined` if only writes are stored so far. */
  put: StoredPut | undefined;
  writes: StoredWrite[];
  readonly children: number[];
}

export interface Namespace {
  readonly entries: Map<string, CheckpointEntry>;
  /** The entries that were put, ordered by their first put. */
  readonly stored: CheckpointEntry[];
  /** The last put that is not hidden. */
  last: StoredPut | undefined;
}

export interface StoredCheckpoints {
  readonly puts: ReadonlyMap<number, StoredPut>;
  /** By name. The root graph has the name `""`. */
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly calls: { restated(): Iterable<CallRecord> };
}
