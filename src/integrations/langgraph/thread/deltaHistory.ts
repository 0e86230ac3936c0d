import { type StoredPut, type StoredWrite, writesBefore } from "./Checkpoints.ts";
import type { GraphValue } from "./GraphValue.ts";
import type { ThreadState } from "./ThreadState.ts";

export interface ChannelHistory {
  /** The value of the nearest ancestor with a value, or `undefined` if the channel starts empty. */
  readonly seed: GraphValue | undefined;
  /** The writes of the ancestors, oldest first. */
  readonly writes: readonly StoredWrite[];
}

export function deltaHistory(
  state: ThreadState,
  put: StoredPut,
  channels: readonly string[],
): ReadonlyMap<string, ChannelHistory> {
  const seeds = new Map<string, GraphValue>();
  const newestFirst = new Map<string, StoredWrite[]>(channels.map((channel) => [channel, []]));
  const open = new Set(channels);
  for (const { ancestor, writes } of ancestors(state, put)) {
    if (open.size === 0) break;
    for (const write of writes.toReversed()) if (open.has(write.channel)) newestFirst.get(write.channel)?.push(write);
    for (const channel of open) {
      const seed = ancestor.values.get(channel);
      if (seed && open.delete(channel)) seeds.set(channel, seed);
    }
  }
  return new Map(
    [...newestFirst].map(([channel, writes]) => [channel, { seed: seeds.get(channel), writes: writes.toReversed() }]),
  );
}

/** Yields the ancestors of a checkpoint, nearest first, each with the writes that led to its child. */
export function* ancestors(
  state: ThreadState,
  put: StoredPut,
): Generator<{ readonly ancestor: StoredPut; readonly writes: readonly StoredWrite[] }> {
  const passed = new Set<StoredPut>();
  for (let child = put; ;) {
    const entry = child.parentId === undefined ? undefined : state.entry(child.entry.namespace, child.parentId);
    if (!entry?.put || passed.has(entry.put)) return;
    passed.add(entry.put);
    yield { ancestor: entry.put, writes: writesBefore(entry, child) };
    child = entry.put;
  }
}
