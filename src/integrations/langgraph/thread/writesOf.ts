import { compareWritesSortKeys, writesSortKey } from "@langchain/langgraph-checkpoint";
import type { CheckpointEntry, StoredPut, StoredWrite } from "./Checkpoints.ts";

/** The writes of a checkpoint as LangGraph applies them: of a write made again the first one counts, of a special one the last. */
export function writesOf(entry: CheckpointEntry): readonly StoredWrite[] {
  return sorted(entry.writes);
}

/**
 * The writes of a checkpoint that made one of its children: those before the child and after its elder sibling. A copy of a
 * checkpoint (`fork`) was made by none.
 */
export function writesBefore(entry: CheckpointEntry, child: StoredPut): readonly StoredWrite[] {
  if (child.meta.get("source") === "fork") return [];
  const elder = entry.children.reduce((last, order) => (order < child.order && order > last ? order : last), -1);
  return sorted(entry.writes.filter(({ order }) => order > elder && order < child.order));
}

/** Whether a regular write of the task was made since the last child. */
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
