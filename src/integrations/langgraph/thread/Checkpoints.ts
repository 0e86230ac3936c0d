import type { Fields } from "./fieldsChange.ts";
import type { CallRecord } from "./GraphRecord.ts";
import type { GraphValue } from "./GraphValue.ts";

/** What a checkpoint has besides the values of its channels. */
export interface PutFields {
  /** The id of its parent; `undefined`: it has none. */
  readonly parentId: string | undefined;
  readonly ts: string;
  readonly version: number;
  readonly meta: Fields;
  readonly versions: Fields;
  readonly seen: Fields;
  readonly more: Fields;
}

/** One put of a checkpoint. */
export interface StoredPut extends PutFields {
  readonly number: number;
  /** Its place in the order of everything in the thread. */
  readonly order: number;
  readonly entry: CheckpointEntry;
  /** The put that it changes. */
  parent: StoredPut | undefined;
  values: ReadonlyMap<string, GraphValue>;
  hidden: boolean;
}

/** One write of a task. */
export interface StoredWrite {
  readonly order: number;
  readonly task: string;
  readonly path: string;
  readonly index: number;
  readonly channel: string;
  readonly value: GraphValue;
}

/** What the thread has under the id of a checkpoint. */
export interface CheckpointEntry {
  readonly namespace: string;
  readonly id: string;
  /** The last put of this id. `undefined`: only writes came so far. */
  put: StoredPut | undefined;
  writes: StoredWrite[];
  /** The places of its children in the order of the thread. */
  readonly children: number[];
}

/** Checkpoints of one graph of a thread. */
export interface Namespace {
  readonly entries: Map<string, CheckpointEntry>;
  /** Those that were put, by their first put, oldest first. */
  readonly stored: CheckpointEntry[];
  /** The last put, hidden ones aside. */
  last: StoredPut | undefined;
}

/** All checkpoints of a thread. */
export interface StoredCheckpoints {
  /** By their numbers. */
  readonly puts: ReadonlyMap<number, StoredPut>;
  /** By their names; the root graph has the name `""`. */
  readonly namespaces: ReadonlyMap<string, Namespace>;
  /** The calls of durable tools. */
  readonly calls: { restated(): Iterable<CallRecord> };
}
