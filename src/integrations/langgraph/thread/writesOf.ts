import { compareWritesSortKeys, writesSortKey } from "@langchain/langgraph-checkpoint";
import type { CheckpointEntry, StoredPut, StoredWrite } from "./Checkpoints.ts";

/**
 * Returns the writes of a checkpoint as LangGraph applies them. The first regular write of an index counts, and the
 * last special one.
 */
export function writesOf(entry: CheckpointEntry): readonly StoredWrite[] {
  return sorted(entry.writes);
}

/**
 * Returns the writes that produced a child: those after its previous sibling and before the child. A copied checkpoint
 * (`fork`) has no such writes.
 */
export function writesBefore(entry: CheckpointEntry, child: StoredPut): readonly StoredWrite[] {
  if (child.meta.get("source") === "fork") return [];
  const elder = entry.children.reduce((last, order) => (order < child.order && order > last ? order : last), -1);
  return sorted(entry.writes.filter(({ order }) => order > elder && order < child.order));
}

/** Returns whether the task already stored this regular write after the last child checkpoint. */
export function isWritten({ writes, children }: CheckpointEntry, task: string, index: number): boolean {
  const last = children.at(-1) ?? -1;
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
