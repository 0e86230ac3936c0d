import type { CheckpointEntry, Namespace, StoredPut } from "../thread/Checkpoints.ts";
import type { ThreadState } from "../thread/ThreadState.ts";

export interface PutFilter {
  /** `undefined` selects all graphs of the thread. */
  readonly namespace: string | undefined;
  /** `undefined` selects all checkpoints. */
  readonly checkpointId: string | undefined;
  /** Selects only checkpoints before this one. */
  readonly before: string | undefined;
}

/** Yields the checkpoints of a thread lazily, in each namespace the last stored first. */
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

/**
 * Compares the storage order if the namespace contains the checkpoint. Otherwise, as in a subgraph, compares the times
 * in the ids.
 */
function entriesBefore({ stored, entries }: Namespace, before: string | undefined): readonly CheckpointEntry[] {
  // Copied, because the thread may grow during the iteration.
  if (before === undefined) return stored.slice();
  const known = entries.get(before);
  const place = known ? stored.lastIndexOf(known) : -1;
  return place < 0 ? stored.filter(({ id }) => id < before) : stored.slice(0, place);
}
