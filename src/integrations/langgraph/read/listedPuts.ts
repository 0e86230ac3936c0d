import type { CheckpointEntry, Namespace, StoredPut } from "../thread/Checkpoints.ts";
import type { ThreadState } from "../thread/ThreadState.ts";

/** Which checkpoints of a thread to list. */
export interface PutFilter {
  /** `undefined`: those of all graphs of the thread. */
  readonly namespace: string | undefined;
  /** `undefined`: all. */
  readonly checkpointId: string | undefined;
  /** Only those before this checkpoint. */
  readonly before: string | undefined;
}

/** The checkpoints of a thread, in each namespace the last stored first. Looks at no more of them than are taken. */
export function* listedPuts({ namespaces }: ThreadState, filter: PutFilter): Generator<StoredPut> {
  const { namespace: wanted, checkpointId, before } = filter;
  const chosen = [...namespaces].filter(([name]) => wanted === undefined || name === wanted);
  for (const [, namespace] of chosen) {
    const entries = entriesBefore(namespace, before);
    for (let at = entries.length - 1; at >= 0; at--) {
      const { id, put } = entries[at] as CheckpointEntry;
      if (put && !put.hidden && (checkpointId === undefined || id === checkpointId)) yield put;
    }
  }
}

/** By the order of storing where the namespace has that checkpoint; else, as in a subgraph, by the time in the ids. */
function entriesBefore({ stored, entries }: Namespace, before: string | undefined): readonly CheckpointEntry[] {
  // A copy: the thread may go on while somebody lists it.
  if (before === undefined) return stored.slice();
  const known = entries.get(before);
  const place = known ? stored.lastIndexOf(known) : -1;
  return place < 0 ? stored.filter(({ id }) => id < before) : stored.slice(0, place);
}
