import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import {
  captureCheckpoint,
  captureWrites,
  type CapturedCheckpoint,
  type CapturedWrite,
  type ValueCapture,
} from "../write/captureCheckpoint.ts";
import { type CheckpointPlace, checkpointRecords, writeRecords } from "../write/checkpointRecords.ts";
import type { CheckpointEntry } from "../thread/Checkpoints.ts";
import { threadConfig } from "./saverOptions.ts";
import { type OwnedThread, storeIn } from "./StoredThreads.ts";

type ImportedTasks = readonly {
  readonly id: string;
  readonly path: string;
  readonly writes: readonly CapturedWrite[];
}[];

interface ImportedTuple {
  readonly place: CheckpointPlace;
  readonly checkpoint: CapturedCheckpoint;
  readonly tasks: ImportedTasks;
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
  const store = storeIn(thread);
  const appendTasks = (place: CheckpointPlace, tasks: ImportedTasks): void => {
    for (const task of tasks.filter(({ writes }) => writes.length > 0))
      thread.append(writeRecords(thread.state, store, place, task, task.writes).records);
  };
  const imported = new Map<CheckpointEntry | undefined, ImportedTasks>();
  for (const { place, checkpoint, tasks } of tuples) {
    const parent = place.id === undefined ? undefined : thread.state.entry(place.namespace, place.id);
    if (parent?.children.length) appendTasks(place, replayedBy(checkpoint, imported.get(parent) ?? []));
    thread.append(checkpointRecords(thread.state, store, place, checkpoint).records);
    const written = { namespace: place.namespace, id: checkpoint.id };
    appendTasks(written, tasks);
    imported.set(thread.state.entry(written.namespace, written.id), tasks);
  }
}

/**
 * Returns the writes of delta channels that another child of the same parent needs as well. In a thread of this
 * library, the writes of a child are the writes that follow the previous child.
 */
function replayedBy({ changed, versions }: CapturedCheckpoint, tasks: ImportedTasks): ImportedTasks {
  const isReplayed = ({ channel }: CapturedWrite): boolean => versions.has(channel) && !changed.has(channel);
  return tasks.map((task) => ({ ...task, writes: task.writes.filter(isReplayed) }));
}

function captured(capture: ValueCapture, tuple: CheckpointTuple): ImportedTuple {
  const { checkpoint, metadata, parentConfig, config } = tuple;
  const given = metadata ?? { source: "update", step: -1, parents: {} };
  return {
    place: { namespace: threadConfig(config).namespace ?? "", id: threadConfig(parentConfig ?? {}).checkpointId },
    checkpoint: captureCheckpoint(capture, checkpoint, given, checkpoint.channel_values),
    tasks: tasksOf(capture, tuple),
  };
}

/** Groups the writes by task. A tuple contains no task paths, but its writes are in the order of the tasks. */
function tasksOf(capture: ValueCapture, { pendingWrites = [] }: CheckpointTuple): ImportedTasks {
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
      const parent: string | undefined = threadConfig(each.parentConfig ?? {}).checkpointId;
      each = parent === undefined ? undefined : byKey.get(keyOf(each.config, parent));
    }
    for (const each of line.toReversed()) ordered.add(each);
  }
  return [...ordered];
}

function keyOf(config: CheckpointTuple["config"], id: string): string {
  return JSON.stringify([threadConfig(config).namespace ?? "", id]);
}
