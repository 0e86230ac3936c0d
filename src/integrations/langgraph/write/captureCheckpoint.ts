import {
  type Checkpoint,
  type CheckpointMetadata,
  type PendingWrite,
  WRITES_IDX_MAP,
  isDeltaSnapshot,
} from "@langchain/langgraph-checkpoint";
import { encodeGraphValue } from "../values/GraphSerializer.ts";
import { type Json, tag } from "../values/Json.ts";
import { unsupportedShape } from "../../../checkpoint/values/unsupportedShape.ts";
import { isSameStored, type Item } from "../thread/GraphValue.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import { type KnownItems, type OwnFields, ownFields } from "./KnownItems.ts";
import type { ValueCoder } from "./ValueCoder.ts";

export interface CapturedCheckpoint {
  readonly id: string;
  readonly ts: string;
  readonly version: number;
  readonly source: unknown;
  /** Complete when the promise {@link ValueCapture.settled} resolves. */
  readonly meta: ReadonlyMap<string, CapturedField>;
  readonly versions: ReadonlyMap<string, Json>;
  readonly seen: ReadonlyMap<string, Json>;
  readonly more: ReadonlyMap<string, Json>;
  readonly changed: ReadonlyMap<string, CapturedValue>;
  /** Channels that have the same value as in the parent. */
  readonly carried: readonly string[];
}

/** A field in its stored form. Complete when the promise {@link ValueCapture.settled} resolves. */
interface CapturedField {
  readonly json: Json;
}

const ownCheckpointFields: ReadonlySet<string> = new Set([
  "v",
  "id",
  "ts",
  "channel_values",
  "channel_versions",
  "versions_seen",
]);

/**
 * @param newVersions the channels with a new value. Every value counts as new if this is omitted, or if the checkpoint
 * is a copy. The value of a channel without a version always counts as new.
 * @throws NotSerializableError
 */
export function captureCheckpoint(
  capture: ValueCapture,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata,
  newVersions: Readonly<Record<string, unknown>> | undefined,
): CapturedCheckpoint {
  const subject = `checkpoint "${checkpoint.id}"`;
  const isWhole = newVersions === undefined || metadata.source === "fork";
  const isNew = (channel: string): boolean =>
    isWhole || Object.hasOwn(newVersions, channel) || !Object.hasOwn(checkpoint.channel_versions, channel);
  const channels = Object.entries(checkpoint.channel_values);
  const changed = channels.filter(([channel, value]) => isNew(channel) && value !== undefined);
  const more = Object.entries(checkpoint).filter(([field]) => !ownCheckpointFields.has(field));
  return {
    id: checkpoint.id,
    ts: checkpoint.ts,
    version: checkpoint.v,
    source: metadata.source,
    meta: capturedMetadata(capture, metadata, `metadata of ${subject}`),
    versions: encoded(checkpoint.channel_versions, subject),
    seen: encoded(checkpoint.versions_seen, subject),
    more: encoded(Object.fromEntries(more), subject),
    changed: new Map(
      changed.map(([channel, value]) => [channel, capture.value(value, `channel "${channel}" of ${subject}`)]),
    ),
    carried: channels.flatMap(([channel]) => (isNew(channel) ? [] : [channel])),
  };
}

/** The metadata fields that this library reads. These fields are stored as JSON even with another serializer. */
const readFields: ReadonlySet<string> = new Set(["source", "parents", "counters_since_delta_snapshot"]);

function capturedMetadata(
  capture: ValueCapture,
  metadata: CheckpointMetadata,
  subject: string,
): ReadonlyMap<string, CapturedField> {
  const fields = Object.entries(metadata).map(([key, value]): [string, CapturedField] => [
    key,
    readFields.has(key) ? { json: encodeGraphValue(value, subject) } : capture.field(value, subject),
  ]);
  return new Map(fields);
}

export interface CapturedWrite {
  readonly channel: string;
  readonly index: number;
  readonly value: CapturedValue;
}

/** @throws NotSerializableError */
export function captureWrites(
  capture: ValueCapture,
  writes: readonly PendingWrite[],
  taskId: string,
): readonly CapturedWrite[] {
  return writes.map(([channel, value], at) => ({
    channel,
    index: Object.hasOwn(WRITES_IDX_MAP, channel) ? (WRITES_IDX_MAP[channel] ?? at) : at,
    value: capture.value(value, `write to "${channel}" of task "${taskId}"`),
  }));
}

function encoded(fields: object, subject: string): ReadonlyMap<string, Json> {
  return new Map(Object.entries(fields).map(([name, value]) => [name, encodeGraphValue(value, subject)]));
}

/** A value in its stored form that the thread does not contain yet. */
interface FreshItem {
  /** Complete when the promise {@link ValueCapture.settled} resolves. */
  json: Json;
  /** The source object and its fields, to recognize the object later. Omitted if the object cannot be recognized. */
  readonly source?: object;
  readonly fields?: OwnFields;
}

export type CapturedItem = Item | FreshItem;

export type CapturedValue =
  | { readonly kind: "one"; readonly item: CapturedItem }
  | { readonly kind: "list"; readonly items: readonly CapturedItem[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [key: string, item: CapturedItem])[] }
  | { readonly kind: "snapshot"; readonly value: CapturedValue };

/** Captures values at once. A custom serializer can finish later, see {@link settled}. */
export class ValueCapture {
  readonly #pending: Promise<unknown>[] = [];
  readonly #reusedBlobs: Item[] = [];

  constructor(
    readonly thread: string,
    readonly coder: ValueCoder,
    /** `undefined` serializes all values, even unchanged ones. */
    readonly known: KnownItems | undefined,
  ) {}

  /** Resolves when all captured values are complete. `undefined` if all are complete already. */
  get settled(): Promise<unknown> | undefined {
    return this.#pending.length === 0 ? undefined : Promise.all(this.#pending);
  }

  /** Returns whether a blob that the values reuse is missing, because a deletion or pruning has removed it. */
  lacksBlob({ items }: ThreadState): boolean {
    return this.#reusedBlobs.some(({ number, stored }) => {
      const own = number === undefined ? undefined : items.get(number);
      return !own || !isSameStored(own.stored, stored);
    });
  }

  /** @throws NotSerializableError */
  value(value: unknown, subject: string): CapturedValue {
    if (isDeltaSnapshot(value)) return { kind: "snapshot", value: this.value(value.value, subject) };
    if (Array.isArray(value) && unsupportedShape(value) === undefined)
      return { kind: "list", items: value.map((item: unknown, at) => this.#item(item, subject, at)) };
    if (isPlainMap(value))
      return {
        kind: "map",
        entries: Object.entries(value).map(([key, item]) => [key, this.#item(item, subject, key)] as const),
      };
    return { kind: "one", item: this.#item(value, subject) };
  }

  /** Captures a value that is stored only once. @throws NotSerializableError */
  field(value: unknown, subject: string): { readonly json: Json } {
    return this.#fresh(value, subject, undefined);
  }

  #item(value: unknown, subject: string, place?: string | number): CapturedItem {
    if (typeof value !== "object" || value === null) return this.#fresh(value, subject, place);
    const known = this.known?.find(this.thread, value);
    if (!known) return this.#fresh(value, subject, place);
    if (known.isInBlob) this.#reusedBlobs.push(known.item);
    return known.item;
  }

  #fresh(value: unknown, subject: string, place: string | number | undefined): FreshItem {
    const where = place === undefined ? subject : `${subject}, ${JSON.stringify(place)}`;
    const json = this.coder.encode(value, where);
    const fields = typeof value === "object" && value !== null ? ownFields(value) : undefined;
    const fresh: FreshItem = { json: json as Json, ...(fields && { source: value as object, fields }) };
    if (json instanceof Promise) this.#await(fresh, json);
    return fresh;
  }

  #await(fresh: FreshItem, json: Promise<Json>): void {
    const settled = json.then((whole) => (fresh.json = whole));
    settled.catch(() => {});
    this.#pending.push(settled);
  }
}

function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  return (
    isPlain && unsupportedShape(value) === undefined && !Object.hasOwn(value, tag) && Object.keys(value).length > 0
  );
}
