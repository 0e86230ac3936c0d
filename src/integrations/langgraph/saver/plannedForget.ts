import type { Namespace, StoredPut } from "../thread/Checkpoints.ts";
import { ancestors } from "../thread/deltaHistory.ts";
import type { ForgetRecord } from "../thread/GraphRecord.ts";
import type { ThreadState } from "../thread/ThreadState.ts";

/**
 * What goes when only some checkpoints stay. Of the ancestors of those that stay, what their delta channels are made of
 * stays hidden.
 *
 * @returns `undefined` when nothing goes.
 */
export function plannedForget(state: ThreadState, kept: ReadonlySet<StoredPut>): ForgetRecord | undefined {
  const hidden = new Map<StoredPut, Set<string>>();
  for (const put of kept) for (const [ancestor, channels] of replayedBy(state, put)) addAll(hidden, ancestor, channels);
  const hide = [...hidden].filter(([put]) => !kept.has(put));
  const others = [...state.puts.values()].filter((put) => !kept.has(put) && !hidden.has(put));
  const changed = hide.filter(([put]) => !put.hidden);
  if (others.length === 0 && changed.length === 0) return undefined;
  return {
    kind: "forget",
    drop: others.map(({ number }) => number),
    hide: hide.map(([{ number }, channels]) => [number, [...channels]] as const),
  };
}

/** The ancestors that a checkpoint has delta channels from, each with those channels. */
function replayedBy(state: ThreadState, put: StoredPut): ReadonlyMap<StoredPut, readonly string[]> {
  const open = deltaChannels(state, put);
  const replayed = new Map<StoredPut, readonly string[]>();
  for (const { ancestor } of ancestors(state, put)) {
    if (open.size === 0) break;
    replayed.set(ancestor, [...open]);
    for (const channel of ancestor.values.keys()) open.delete(channel);
  }
  return replayed;
}

/** Channels without a value that ancestors have a snapshot of, or that LangGraph counts the writes of. */
function deltaChannels(state: ThreadState, put: StoredPut): Set<string> {
  const counted = put.meta.get("counters_since_delta_snapshot");
  const channels = new Set(typeof counted === "object" && counted !== null ? Object.keys(counted) : []);
  for (const { ancestor } of ancestors(state, put))
    for (const [channel, { kind }] of ancestor.values) if (kind === "snapshot") channels.add(channel);
  for (const channel of put.values.keys()) channels.delete(channel);
  return channels;
}

function addAll(hidden: Map<StoredPut, Set<string>>, put: StoredPut, channels: readonly string[]): void {
  const known = hidden.get(put) ?? new Set();
  for (const channel of channels) known.add(channel);
  hidden.set(put, known);
}

/** The last checkpoints of the root graph, what subgraphs stored since, and the memory that a subgraph has of its own. */
export function lastCheckpoints({ namespaces }: ThreadState, keep: number): ReadonlySet<StoredPut> {
  const root = shown(namespaces.get(""));
  const first = root.slice(-keep)[0]?.order ?? -1;
  const kept = new Set<StoredPut>();
  for (const [name, namespace] of namespaces) {
    const puts = shown(namespace);
    const last = root.length === 0 || name === "" ? puts.slice(-keep) : puts.filter(({ order }) => order > first);
    for (const put of last) kept.add(put);
    const memory = puts.at(-1);
    if (memory && !name.slice(name.lastIndexOf("|") + 1).includes(":")) kept.add(memory);
  }
  return kept;
}

/** What was there when a checkpoint was stored. */
export function checkpointsUntil({ namespaces }: ThreadState, last: StoredPut): ReadonlySet<StoredPut> {
  return new Set([...namespaces.values()].flatMap(shown).filter(({ order }) => order <= last.order));
}

function shown(namespace: Namespace | undefined): readonly StoredPut[] {
  return (namespace?.stored ?? []).flatMap(({ put }) => (put && !put.hidden ? [put] : []));
}
