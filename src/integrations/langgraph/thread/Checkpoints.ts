import { compareWritesSortKeys, writesSortKey } from "@langchain/langgraph-checkpoint";
import type { CallRecord } from "./GraphRecord.ts";
import { fieldsChange, isSameStored, type GraphValue, type Fields } from "./GraphValue.ts";

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
  readonly children: StoredPut[];
}

export interface Namespace {
  readonly entries: Map<string, CheckpointEntry>;
  /** The entries that were put, ordered by their first put. */
  readonly stored: CheckpointEntry[];
  /** The last put that is not hidden. */
  last: StoredPut | undefined;
}

export interface StoredCheckpoints {
  readonly nextItem: number;
  readonly puts: ReadonlyMap<number, StoredPut>;
  /** By name. The root graph has the name `""`. */
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly calls: { restated(): Iterable<CallRecord> };
}

/**
 * Returns the writes of a checkpoint as LangGraph applies them: the first of several regular writes, and the last of
 * several special writes.
 */
export function writesOf(entry: CheckpointEntry): readonly StoredWrite[] {
  return sorted(entry.writes);
}

/**
 * Returns the writes between the previous sibling and a child. A copy of a sibling has the writes of that sibling. A copy
 * of the parent has none.
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

/** Returns the sibling that a checkpoint is a copy of. `undefined` for any other checkpoint. */
export function originalPut({ children }: CheckpointEntry, copy: StoredPut): StoredPut | undefined {
  if (!isCopy(copy)) return undefined;
  const isOriginal = (child: StoredPut): boolean =>
    !isCopy(child) &&
    child.order < copy.order &&
    !fieldsChange(child.versions, copy.versions) &&
    isSameStored(child.meta.get(counters), copy.meta.get(counters));
  return children.findLast(isOriginal);
}

/** Returns whether the task already stored this regular write after the last child checkpoint. */
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
