import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import {
  captureCheckpoint,
  captureWrites,
  type CapturedCheckpoint,
  type CapturedWrite,
  type ValueCapture,
} from "../write/captureCheckpoint.ts";
import { type CheckpointPlace, checkpointRecords, writeRecords, type StoreValue } from "../write/checkpointRecords.ts";
import type { OwnedThread } from "./StoredThreads.ts";

interface ImportedTuple {
  readonly place: CheckpointPlace;
  readonly checkpoint: CapturedCheckpoint;
  readonly tasks: readonly { readonly id: string; readonly path: string; readonly writes: readonly CapturedWrite[] }[];
}

/** Returns all checkpoints of a thread from another saver, parents before children. */
export async function importedTuples(
  capture: ValueCapture,
  saver: BaseCheckpointSaver,
  threadId: string,
): Promise<readonly ImportedTuple[]> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list({ configurable: { thread_id: threadId } })) tuples.push(tuple);
  return parentsFirst(tuples.toReversed()).map((tuple) => captured(capture, tuple));
}

export function appendImported(thread: OwnedThread, tuples: readonly ImportedTuple[]): void {
  for (const { place, checkpoint, tasks } of tuples) {
    const store: StoreValue = (json) => thread.value(json, "a value of a graph");
    thread.append(checkpointRecords(thread.state, store, place, checkpoint).records);
    const written = { namespace: place.namespace, id: checkpoint.id };
    for (const task of tasks) thread.append(writeRecords(thread.state, store, written, task, task.writes).records);
  }
}

function captured(capture: ValueCapture, tuple: CheckpointTuple): ImportedTuple {
  const { checkpoint, metadata, parentConfig, config } = tuple;
  const given = metadata ?? { source: "update", step: -1, parents: {} };
  return {
    place: { namespace: namespaceOf(config), id: idOf(parentConfig) },
    checkpoint: captureCheckpoint(capture, checkpoint, given, checkpoint.channel_values),
    tasks: tasksOf(capture, tuple),
  };
}

/**
 * Groups the writes by task. A tuple does not contain the paths of tasks, but the writes are in the order of the tasks.
 */
function tasksOf(capture: ValueCapture, { pendingWrites = [] }: CheckpointTuple): ImportedTuple["tasks"] {
  const ids = [...new Set(pendingWrites.map(([id]) => id))];
  return ids.map((id, at) => {
    const writes = pendingWrites.flatMap(([task, channel, value]) =>
      task === id ? [[channel, value] as [string, unknown]] : [],
    );
    return { id, path: `${at}`.padStart(6, "0"), writes: captureWrites(capture, writes, id) };
  });
}

function parentsFirst(tuples: readonly CheckpointTuple[]): readonly CheckpointTuple[] {
  const byKey = new Map(tuples.map((tuple) => [keyOf(tuple.config, tuple.checkpoint.id), tuple]));
  const ordered = new Set<CheckpointTuple>();
  for (const tuple of tuples) {
    const line: CheckpointTuple[] = [];
    for (let each: CheckpointTuple | undefined = tuple; each && !ordered.has(each) && !line.includes(each);) {
      line.push(each);
      const parent = idOf(each.parentConfig);
      each = parent === undefined ? undefined : byKey.get(keyOf(each.config, parent));
    }
    for (const each of line.toReversed()) ordered.add(each);
  }
  return [...ordered];
}

function keyOf(config: CheckpointTuple["config"], id: string): string {
  return JSON.stringify([namespaceOf(config), id]);
}

function namespaceOf(config: CheckpointTuple["config"]): string {
  return String(config.configurable?.["checkpoint_ns"] ?? "");
}

function idOf(config: CheckpointTuple["parentConfig"]): string | undefined {
  const id: unknown = config?.configurable?.["checkpoint_id"];
  return typeof id === "string" ? id : undefined;
}
