import {
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type DeltaChannelHistory,
  DeltaSnapshot,
  maxChannelVersion,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import { isSameValue } from "../../../checkpoint/values/isSameValue.ts";
import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import { define } from "../../../internal/frozenCopy.ts";
import {
  type StoredPut,
  type StoredWrite,
  type CheckpointEntry,
  type Namespace,
  writesOf,
  writesBefore,
} from "../thread/Checkpoints.ts";
import { type GraphValue, itemsOf, type Item, type Fields } from "../thread/GraphValue.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import { decodeGraphValue } from "../values/GraphSerializer.ts";
import type { Json } from "../values/Json.ts";
import { type KnownItems, ownFields } from "../write/KnownItems.ts";
import type { ValueCoder } from "../write/ValueCoder.ts";

export interface ReadableThread {
  readonly id: string;
  readonly state: ThreadState;
  read(values: readonly StoredValue[]): Promise<readonly unknown[]>;
}

/** Builds LangGraph tuples from a thread. Each read creates new objects. */
export class ThreadReader {
  constructor(
    readonly thread: ReadableThread,
    readonly coder: ValueCoder,
    readonly known: KnownItems | undefined,
  ) {}

  async fits(put: StoredPut, filter: object): Promise<boolean> {
    const wanted = Object.entries(filter) as [string, unknown][];
    if (wanted.length === 0) return true;
    const fields = (await this.#metadata(put)) as unknown as Readonly<Record<string, unknown>>;
    return wanted.every(([key, value]) => fields[key] === value || isSameValue(fields[key], value));
  }

  async #metadata({ meta }: StoredPut): Promise<CheckpointMetadata> {
    // A list contains the output of another serializer. Other values are always stored as JSON.
    const decode = (json: Json): unknown => (Array.isArray(json) ? this.coder.decode(json) : decodeGraphValue(json));
    const entries = [...meta].map(async ([name, json]) => [name, await decode(json)] as const);
    return Object.fromEntries(await Promise.all(entries)) as unknown as CheckpointMetadata;
  }

  async tuple(put: StoredPut): Promise<CheckpointTuple> {
    const writes = writesOf(put.entry);
    const jsons = await this.#jsons([...put.values.values(), ...writes.map(({ value }) => value)]);
    const values: Record<string, unknown> = {};
    for (const [channel, value] of put.values) define(values, channel, await this.#value(value, jsons));
    const { parentId, entry } = put;
    return {
      config: this.configOf(entry.namespace, entry.id),
      checkpoint: {
        v: put.version,
        id: entry.id,
        ts: put.ts,
        channel_values: values,
        channel_versions: decoded(put.versions),
        versions_seen: decoded(put.seen),
        ...decoded(put.more),
        ...(await this.#pendingSends(put, values)),
      },
      metadata: await this.#metadata(put),
      pendingWrites: await this.#pending(writes, jsons),
      ...(parentId !== undefined && { parentConfig: this.configOf(entry.namespace, parentId) }),
    };
  }

  configOf(namespace: string, id: string): CheckpointTuple["config"] {
    return { configurable: { thread_id: this.thread.id, checkpoint_ns: namespace, checkpoint_id: id } };
  }

  async deltaHistory(put: StoredPut, channels: readonly string[]): Promise<Record<string, DeltaChannelHistory>> {
    const histories = deltaHistory(this.thread.state, put, channels);
    const all = [...histories.values()].flatMap(({ seed, writes }) => [
      ...(seed ? [seed] : []),
      ...writes.map(({ value }) => value),
    ]);
    const jsons = await this.#jsons(all);
    const result: Record<string, DeltaChannelHistory> = {};
    for (const [channel, { seed, writes }] of histories) {
      const pending = await this.#pending(writes, jsons);
      define(result, channel, seed ? { writes: pending, seed: await this.#value(seed, jsons) } : { writes: pending });
    }
    return result;
  }

  /** In format versions below 4, the parent's writes contained the sends of tasks, and the checkpoint did not. */
  async #pendingSends(put: StoredPut, values: Record<string, unknown>): Promise<object> {
    if (put.version >= 4 || put.parentId === undefined) return {};
    const [parent] = ancestors(this.thread.state, put);
    const sends = parent ? writesOf(parent.ancestor.entry).filter(({ channel }) => channel === TASKS) : [];
    const pending = await this.#pending(sends, await this.#jsons(sends.map(({ value }) => value)));
    values[TASKS] = pending.map(([, , value]) => value);
    const versions = decoded(put.versions) as Record<string, number | string>;
    const known = Object.values(versions);
    return { channel_versions: { ...versions, [TASKS]: known.length > 0 ? maxChannelVersion(...known) : 1 } };
  }

  async #pending(writes: readonly StoredWrite[], jsons: ReadonlyMap<Item, Json>): Promise<CheckpointPendingWrite[]> {
    const pending: CheckpointPendingWrite[] = [];
    for (const { task, channel, value } of writes) pending.push([task, channel, await this.#value(value, jsons)]);
    return pending;
  }

  /** Loads only values with a number. Short values have no number and are never in blobs. */
  async #jsons(values: readonly GraphValue[]): Promise<ReadonlyMap<Item, Json>> {
    const items = [...new Set(values.flatMap(itemsOf))].filter(({ number }) => number !== undefined);
    const jsons = await this.thread.read(items.map(({ stored }) => stored));
    return new Map(items.map((item, at) => [item, jsons[at] as Json]));
  }

  async #value(value: GraphValue, jsons: ReadonlyMap<Item, Json>): Promise<unknown> {
    if (value.kind === "snapshot") return new DeltaSnapshot(await this.#value(value.value, jsons));
    const items = itemsOf(value).map((item) => this.#item(item, jsons));
    const made: readonly unknown[] = items.some((item) => item instanceof Promise) ? await Promise.all(items) : items;
    if (value.kind === "one") return made[0];
    if (value.kind === "list") return [...made];
    const object: Record<string, unknown> = {};
    for (const [at, key] of [...value.entries.keys()].entries()) define(object, key, made[at]);
    return object;
  }

  #item(item: Item, jsons: ReadonlyMap<Item, Json>): unknown {
    const value = this.coder.decode(jsons.get(item) ?? (item.stored as Json));
    if (!this.known || typeof value !== "object" || value === null || value instanceof Promise) return value;
    const fields = item.number === undefined ? undefined : ownFields(value);
    if (fields) this.known.set(this.thread.id, value, item, fields);
    return value;
  }
}

function decoded<Value>(fields: Fields): Record<string, Value> {
  const object: Record<string, Value> = {};
  for (const [name, json] of fields) define(object, name, decodeGraphValue(json));
  return object;
}

interface PutFilter {
  /** `undefined` selects all graphs of the thread. */
  readonly namespace: string | undefined;
  /** `undefined` selects all checkpoints. */
  readonly checkpointId: string | undefined;
  /** Selects only checkpoints before the checkpoint with this id. */
  readonly before: string | undefined;
}

/** Yields the matching checkpoints of a thread. In each namespace, the last stored checkpoint is first. */
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
 * Returns the checkpoints before `before`. In the namespace of `before`, the order of storing decides. In other
 * namespaces, such as those of subgraphs, the times in the ids decide.
 */
function entriesBefore({ stored, entries }: Namespace, before: string | undefined): readonly CheckpointEntry[] {
  // Copied, because the thread can grow while the caller iterates.
  if (before === undefined) return stored.slice();
  const known = entries.get(before);
  const place = known ? stored.lastIndexOf(known) : -1;
  return place < 0 ? stored.filter(({ id }) => id < before) : stored.slice(0, place);
}

interface ChannelHistory {
  /** The channel's value in the nearest ancestor that has a value. `undefined` if the channel starts empty. */
  readonly seed: GraphValue | undefined;
  /** The writes of the ancestors, oldest first. */
  readonly writes: readonly StoredWrite[];
}

function deltaHistory(
  state: ThreadState,
  put: StoredPut,
  channels: readonly string[],
): ReadonlyMap<string, ChannelHistory> {
  const seeds = new Map<string, GraphValue>();
  const newestFirst = new Map<string, StoredWrite[]>(channels.map((channel) => [channel, []]));
  const open = new Set(channels);
  for (const { ancestor, child } of ancestors(state, put)) {
    if (open.size === 0) break;
    const writes = writesBefore(ancestor.entry, child);
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

/** Yields the ancestors of a checkpoint, nearest first, each with its child. */
export function* ancestors(
  state: ThreadState,
  put: StoredPut,
): Generator<{ readonly ancestor: StoredPut; readonly child: StoredPut }> {
  const passed = new Set<StoredPut>();
  for (let child = put; ;) {
    const entry = child.parentId === undefined ? undefined : state.entry(child.entry.namespace, child.parentId);
    if (!entry?.put || passed.has(entry.put)) return;
    passed.add(entry.put);
    yield { ancestor: entry.put, child };
    child = entry.put;
  }
}
