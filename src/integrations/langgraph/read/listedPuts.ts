import type { Namespace, StoredPut } from "../thread/Checkpoints.ts";
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

/** The checkpoints of a thread, in each namespace the last stored first. */
export function listedPuts({ namespaces }: ThreadState, filter: PutFilter): readonly StoredPut[] {
  const { namespace: wanted, checkpointId } = filter;
  const chosen = [...namespaces].filter(([name]) => wanted === undefined || name === wanted);
  const puts = chosen.flatMap(([, namespace]) => putsBefore(namespace, filter.before).toReversed());
  return puts.filter(({ entry }) => checkpointId === undefined || entry.id === checkpointId);
}

/** By the order of storing where the namespace has that checkpoint; else, as in a subgraph, by the time in the ids. */
function putsBefore({ stored, entries }: Namespace, before: string | undefined): readonly StoredPut[] {
  const puts = stored.flatMap(({ put }) => (put && !put.hidden ? [put] : []));
  if (before === undefined) return puts;
  const known = entries.get(before);
  const place = known ? stored.indexOf(known) : -1;
  if (place < 0) return puts.filter(({ entry }) => entry.id < before);
  const earlier = new Set(stored.slice(0, place));
  return puts.filter(({ entry }) => earlier.has(entry));
}
