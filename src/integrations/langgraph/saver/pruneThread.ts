import { originalPut, type Namespace, type StoredPut } from "../thread/Checkpoints.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import { ancestors } from "./ThreadReader.ts";
import type { ForgetRecord } from "../thread/GraphRecord.ts";
import type { OwnedThread } from "./StoredThreads.ts";

/** Plans which checkpoints to drop. A checkpoint that kept delta channels need is hidden and not dropped. */
function plannedForget(state: ThreadState, kept: ReadonlySet<StoredPut>): ForgetRecord | undefined {
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

/**
 * Returns the ancestors from which delta channels of a checkpoint are replayed, each with these channels. Includes the
 * original of each copied ancestor, because it shows the writes of the copy.
 */
function replayedBy(state: ThreadState, put: StoredPut): ReadonlyMap<StoredPut, readonly string[]> {
  const open = deltaChannels(state, put);
  const replayed = new Map<StoredPut, readonly string[]>();
  for (const { ancestor, child } of ancestors(state, put)) {
    if (open.size === 0) break;
    replayed.set(ancestor, [...open]);
    const original = originalPut(ancestor.entry, child);
    if (original) replayed.set(original, []);
    for (const channel of ancestor.values.keys()) open.delete(channel);
  }
  return replayed;
}

/** Returns the delta channels without a value in a checkpoint, from snapshots in ancestors and LangGraph's counters. */
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

/** Returns the last checkpoints of the root graph, and the subgraph checkpoints that a run from them can read. */
function lastCheckpoints({ namespaces }: ThreadState, keep: number): ReadonlySet<StoredPut> {
  const root = shown(namespaces.get("")).slice(-keep);
  const first = root[0]?.order ?? -1;
  const parents = new Set(root.map(({ entry }) => entry.id));
  const newest = root.at(-1)?.entry.id ?? "";
  const kept = new Set<StoredPut>(root);
  for (const [name, namespace] of namespaces) {
    if (name === "") continue;
    const puts = shown(namespace);
    // With the durability "exit", the checkpoint of a subgraph is stored before its parent in the root graph.
    const isLater = (put: StoredPut): boolean => {
      const parent = rootParentOf(put);
      return put.order > first || parent > newest || parents.has(parent);
    };
    for (const put of root.length === 0 ? puts.slice(-keep) : puts.filter(isLater)) kept.add(put);
    // A subgraph with memory has a namespace without a task. A run starts with the memory from before its checkpoint.
    if (name.includes(":")) continue;
    const memories = root.map((start) => puts.findLast((put) => put.entry.id < replayedFrom(start)));
    for (const memory of [...memories, puts.at(-1)]) if (memory) kept.add(memory);
  }
  return kept;
}

/** Returns the checkpoint whose earlier subgraph memory a run uses: for a copied or changed checkpoint, its parent. */
function replayedFrom({ meta, parentId, entry }: StoredPut): string {
  const source = meta.get("source");
  return (source === "fork" || source === "update" ? parentId : undefined) ?? entry.id;
}

/** Returns the id of the root checkpoint that a subgraph followed. Later ids sort after earlier ones. */
function rootParentOf({ meta }: StoredPut): string {
  const { "": id } = Object(meta.get("parents")) as Readonly<Record<string, unknown>>;
  return typeof id === "string" ? id : "";
}

function shown(namespace: Namespace | undefined): readonly StoredPut[] {
  return (namespace?.stored ?? []).flatMap(({ put }) => (put && !put.hidden ? [put] : []));
}

/** Removes all checkpoints except the last ones. Also finishes a pruning that was interrupted. */
export async function pruneThread(
  thread: OwnedThread,
  keep: number,
): Promise<{ readonly bytes: number; readonly checkpoints: number }> {
  const forget = plannedForget(thread.state, lastCheckpoints(thread.state, keep));
  if (forget) thread.append([forget]);
  await thread.durable();
  return { ...(await thread.prune()), checkpoints: forget?.drop.length ?? 0 };
}
