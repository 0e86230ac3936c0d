import { isWritten } from "../thread/Checkpoints.ts";
import type { GraphRecord, WriteEntry } from "../thread/GraphRecord.ts";
import { type GraphValue, itemsOf } from "../thread/GraphValue.ts";
import { putRecord } from "../thread/restated.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import { valueChange } from "../thread/valueChange.ts";
import type { CapturedCheckpoint, CapturedWrite } from "./captureCheckpoint.ts";
import { ItemWriter, type StoreValue } from "./ItemWriter.ts";

/** Identifies the checkpoint that a put or a write refers to. */
export interface CheckpointPlace {
  readonly namespace: string;
  /** The id of the parent, or of the checkpoint that the writes follow. */
  readonly id: string | undefined;
}

export interface WrittenRecords {
  readonly records: readonly GraphRecord[];
  readonly writer: ItemWriter;
}

export function checkpointRecords(
  state: ThreadState,
  store: StoreValue,
  { namespace, id: parentId }: CheckpointPlace,
  captured: CapturedCheckpoint,
): WrittenRecords {
  const parent = parentId === undefined ? undefined : state.entry(namespace, parentId)?.put;
  const writer = new ItemWriter(state, store, () =>
    parent ? parent.entry.writes.flatMap(({ value }) => itemsOf(value)) : [],
  );
  const values = new Map<string, GraphValue>();
  for (const [channel, value] of captured.changed)
    values.set(channel, writer.value(value, parent?.values.get(channel)));
  for (const channel of captured.carried) {
    const value = parent?.values.get(channel);
    if (value) values.set(channel, value);
  }
  const meta = new Map([...captured.meta].map(([name, { json }]) => [name, json]));
  const last = state.namespaces.get(namespace)?.last;
  const put = putRecord({ ...captured, namespace, parentId, meta, values }, parent, last);
  // A restated log does not show the numbers of removed puts.
  const isGap = state.nextPut > 0 && !state.puts.has(state.nextPut - 1);
  return { records: [...writer.records(), isGap ? { ...put, n: state.nextPut } : put], writer };
}

/** @returns no records if all writes are already stored */
export function writeRecords(
  state: ThreadState,
  store: StoreValue,
  { namespace, id = "" }: CheckpointPlace,
  task: { readonly id: string; readonly path: string },
  captured: readonly CapturedWrite[],
): WrittenRecords {
  const entry = state.entry(namespace, id);
  const writer = new ItemWriter(state, store, () => []);
  const added = captured.filter(({ index }) => !entry || !isWritten(entry, task.id, index));
  if (added.length === 0) return { records: [], writer };
  const w = added.map(({ channel, index, value }, at): WriteEntry => {
    const change = valueChange(undefined, writer.value(value, undefined));
    return index === at ? [channel, change] : [channel, change, index];
  });
  const { put } = entry ?? {};
  const of = put ? { of: put.number } : { of: id, ...(namespace !== "" && { ns: namespace }) };
  const path = task.path === "" ? {} : { path: task.path };
  return { records: [...writer.records(), { kind: "writes", ...of, task: task.id, ...path, w }], writer };
}
