import { compareWritesSortKeys, writesSortKey } from "@langchain/langgraph-checkpoint";
import type { CallRecord } from "./GraphRecord.ts";
import { fieldsChange, isSameStored, type GraphValue, type Fields } from "./GraphValue.ts";

/** The fields of a checkpoint, without the values of its channels. */
export interface PutFields {
  /** The id of the parent. `undefined` for the first checkpoint. */
  readonly parentId: string | undefined;
  readonly ts: string;
  readonly version: number;
  readonly meta: Fields;
  readonly versions: Fields;
  readonly seen: Fields;
  readonly more: Fields;
}

export interface StoredPut extends PutFields {
  readonly number: number;
  /** The position among all records of the thread. */
  readonly order: number;
  readonly entry: CheckpointEntry;
  /** The checkpoint to which the stored record is a difference. */
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
  /** The last checkpoint with this id. `undefined` if only writes are stored. */
  put: StoredPut | undefined;
  writes: StoredWrite[];
  readonly children: StoredPut[];
}

export interface Namespace {
  readonly entries: Map<string, CheckpointEntry>;
  /** The entries that have a checkpoint, in the order of their first checkpoint. */
  readonly stored: CheckpointEntry[];
  /** The last checkpoint that is not hidden. */
  last: StoredPut | undefined;
}

export interface StoredCheckpoints {
  readonly nextItem: number;
  readonly puts: ReadonlyMap<number, StoredPut>;
  /** By name. The root graph has the name `""`. */
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly calls: { restated(until: number): Iterable<CallRecord> };
}

/**
 * Returns the writes of a checkpoint as LangGraph applies them. If a regular write exists twice, the first one counts.
 * If a special write exists twice, the last one counts.
 */
export function writesOf(entry: CheckpointEntry): readonly StoredWrite[] {
  return sorted(entry.writes);
}

/**
 * Returns the writes that led from a checkpoint to its child: the writes after the previous child. If the child is a
 * copy of another child, returns the writes of that child. For a copy of the parent, returns no writes.
 */
export function writesBefore(entry: CheckpointEntry, child: StoredPut): readonly StoredWrite[] {
  const end = isCopy(child) ? originalPut(entry, child)?.order : child.order;
  if (end === undefined) return [];
  const elder = entry.children.findLast(({ order }) => order < end)?.order ?? -1;
  return sorted(entry.writes.filter(({ order }) => order > elder && order < end));
}

export function isCopy({ meta }: StoredPut): boolean {
  return meta.get("source") === "fork";
}

const counters = "counters_since_delta_snapshot";

/** Returns the original of a copied checkpoint, which has the same parent. `undefined` if the checkpoint is no copy. */
export function originalPut({ children }: CheckpointEntry, copy: StoredPut): StoredPut | undefined {
  if (!isCopy(copy)) return undefined;
  const isOriginal = (child: StoredPut): boolean =>
    !isCopy(child) &&
    child.order < copy.order &&
    !fieldsChange(child.versions, copy.versions) &&
    isSameStored(child.meta.get(counters), copy.meta.get(counters));
  return children.findLast(isOriginal);
}

/** Returns whether a task stored this regular write after the newest child checkpoint. */
export function isWritten({ writes, children }: CheckpointEntry, task: string, index: number): boolean {
  const last = children.at(-1)?.order ?? -1;
  return index >= 0 && writes.some((write) => write.order > last && write.task === task && write.index === index);
}

function sorted(writes: readonly StoredWrite[]): readonly StoredWrite[] {
  const byKey = new Map<string, StoredWrite>();
  for (const write of writes) {
    const key = `${write.index} ${write.task}`;
    if (write.index < 0 || !byKey.has(key)) byKey.set(key, write);
  }
  const keyed = [...byKey.values()].map((write) => ({
    write,
    key: writesSortKey(write.path, write.task, write.index),
  }));
  return keyed.sort((a, b) => compareWritesSortKeys(a.key, b.key)).map(({ write }) => write);
}
