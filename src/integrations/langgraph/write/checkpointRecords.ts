import { isWritten } from "../thread/Checkpoints.ts";
import type { GraphRecord, WriteEntry, ItemsRecord } from "../thread/GraphRecord.ts";
import {
  type GraphValue,
  itemsOf,
  valueChange,
  isSameStored,
  type Item,
  ItemList,
  withoutSnapshot,
} from "../thread/GraphValue.ts";
import { putRecord } from "../thread/restated.ts";
import type { ThreadState } from "../thread/ThreadState.ts";
import type { CapturedCheckpoint, CapturedWrite, CapturedItem, CapturedValue } from "./captureCheckpoint.ts";
import { envelopeKeyOf, type StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { Json } from "../values/Json.ts";
import type { KnownItems, OwnFields } from "./KnownItems.ts";

/** Identifies a checkpoint of a thread. */
export interface CheckpointPlace {
  readonly namespace: string;
  /** The id of the parent, or of the checkpoint that the writes follow. */
  readonly id: string | undefined;
}

export interface WrittenRecords {
  readonly records: readonly GraphRecord[];
  readonly writer: ItemWriter;
}

export function checkpointRecords(
  state: ThreadState,
  store: StoreValue,
  { namespace, id: parentId }: CheckpointPlace,
  captured: CapturedCheckpoint,
): WrittenRecords {
  const parent = parentId === undefined ? undefined : state.entry(namespace, parentId)?.put;
  const writer = new ItemWriter(state, store, () =>
    parent ? parent.entry.writes.flatMap(({ value }) => itemsOf(value)) : [],
  );
  const values = new Map<string, GraphValue>();
  for (const [channel, value] of captured.changed)
    values.set(channel, writer.value(value, parent?.values.get(channel)));
  for (const channel of captured.carried) {
    const value = parent?.values.get(channel);
    if (value) values.set(channel, value);
  }
  const meta = new Map([...captured.meta].map(([name, { json }]) => [name, json]));
  const last = state.namespaces.get(namespace)?.last;
  const put = putRecord({ ...captured, namespace, parentId, meta, values }, parent, last);
  // A rewritten log does not contain the numbers of removed checkpoints.
  const isGap = state.nextPut > 0 && !state.puts.has(state.nextPut - 1);
  return { records: [...writer.records(), isGap ? { ...put, n: state.nextPut } : put], writer };
}

/** @returns no records if all writes are already stored */
export function writeRecords(
  state: ThreadState,
  store: StoreValue,
  { namespace, id = "" }: CheckpointPlace,
  task: { readonly id: string; readonly path: string },
  captured: readonly CapturedWrite[],
): WrittenRecords {
  const entry = state.entry(namespace, id);
  const writer = new ItemWriter(state, store, () => []);
  const added = captured.filter(({ index }) => !entry || !isWritten(entry, task.id, index));
  if (added.length === 0) return { records: [], writer };
  const w = added.map(({ channel, index, value }, at): WriteEntry => {
    const change = valueChange(undefined, writer.value(value, undefined));
    return index === at ? [channel, change] : [channel, change, index];
  });
  const { put } = entry ?? {};
  const of = put ? { of: put.number } : { of: id, ...(namespace !== "" && { ns: namespace }) };
  const path = task.path === "" ? {} : { path: task.path };
  return { records: [...writer.records(), { kind: "writes", ...of, task: task.id, ...path, w }], writer };
}

const keys = new WeakMap<Item, string>();

const longestText = 48;

export type StoreValue = (json: Json) => StoredValue;

interface NewlyKnown {
  readonly source: object;
  readonly item: Item;
  readonly fields: OwnFields;
}

/** Converts captured values to items. The record of new items must precede the records that refer to these items. */
class ItemWriter {
  readonly #added: Item[] = [];
  readonly #known: NewlyKnown[] = [];
  /** By source object: its item, so that an object in several values is stored once. */
  readonly #made = new Map<object, Item>();
  readonly #first: number;

  constructor(
    readonly state: ThreadState,
    readonly store: StoreValue,
    /** Returns more items to reuse, such as items of the writes that produced a checkpoint. */
    readonly candidates: () => readonly Item[],
  ) {
    this.#first = state.nextItem;
  }

  /** @param before - the previous value, whose items can be reused. */
  value(captured: CapturedValue, before: GraphValue | undefined): GraphValue {
    if (captured.kind === "snapshot")
      return { kind: "snapshot", value: this.value(captured.value, withoutSnapshot(before)) };
    const value = this.#valueOf(captured, new ItemSearch(before, this.candidates));
    return before && isSameGraphValue(before, value) ? before : value;
  }

  #valueOf(captured: Exclude<CapturedValue, { kind: "snapshot" }>, search: ItemSearch): GraphValue {
    if (captured.kind === "one") return { kind: "one", item: this.#item(captured.item, search, 0) };
    if (captured.kind === "list") {
      const items = captured.items.map((item, at) => this.#item(item, search, at));
      return { kind: "list", list: ItemList.of(items) };
    }
    const entries = captured.entries.map(([key, item]) => [key, this.#item(item, search, key)] as const);
    return { kind: "map", entries: new Map(entries) };
  }

  records(): readonly ItemsRecord[] {
    return this.#added.length === 0 ? [] : [{ kind: "items", items: this.#added.map(({ stored }) => stored) }];
  }

  /** Remembers the source objects. Call this after the records were added to the state. */
  remember(thread: string, known: KnownItems): void {
    for (const { source, item, fields } of this.#known) {
      const own = item.number === undefined ? undefined : this.state.items.get(item.number);
      if (own) known.set(thread, source, own, fields);
    }
  }

  #item(captured: CapturedItem, search: ItemSearch, place: number | string): Item {
    if ("stored" in captured) return search.at(place) === captured ? captured : this.#own(captured);
    const { json, source, fields } = captured;
    if (!source || !fields) return search.find(json, place) ?? this.#add(json);
    const item = this.#made.get(source) ?? search.find(json, place) ?? this.#add(json);
    this.#made.set(source, item);
    this.#known.push({ source, item, fields });
    return item;
  }

  /** Returns the item of this state that equals an item from an earlier read of the thread, or a new item. */
  #own(known: Item): Item {
    const own = known.number === undefined ? undefined : this.state.items.get(known.number);
    if (own === known || (own && isSameStored(own.stored, known.stored))) return own;
    return this.#addStored(known.stored);
  }

  #add(json: Json): Item {
    return isShort(json) ? { number: undefined, stored: json } : this.#addStored(this.store(json));
  }

  #addStored(stored: StoredValue): Item {
    const item: Item = { number: this.#first + this.#added.length, stored };
    this.#added.push(item);
    return item;
  }
}

type Index = ReadonlyMap<string, Item>;

/** Finds the item that contains a value: at its previous position, at other positions, then among other items. */
class ItemSearch {
  #further: Index | undefined;
  #moved: Index | undefined;

  constructor(
    readonly before: GraphValue | undefined,
    readonly further: () => readonly Item[],
  ) {}

  find(json: Json, place: number | string): Item | undefined {
    const there = this.at(place);
    if (there && isStoredAs(there, json)) return there;
    if (isShort(json)) return undefined;
    this.#further ??= indexed(this.further());
    if (this.#further.size === 0 && !there) return undefined;
    const key = keyOf(json);
    const item = this.#further.get(key) ?? (there && this.#movedIndex().get(key));
    return item && isStoredAs(item, json) ? item : undefined;
  }

  /** Returns the items at all positions, because items move, for example when the oldest are removed. */
  #movedIndex(): Index {
    return (this.#moved ??= indexed(this.before ? itemsOf(this.before) : []));
  }

  at(place: number | string): Item | undefined {
    const { before } = this;
    if (before?.kind === "one") return before.item;
    if (before?.kind === "list") return typeof place === "number" ? before.list.at(place) : undefined;
    return before?.kind === "map" && typeof place === "string" ? before.entries.get(place) : undefined;
  }
}

/** Returns whether an item stores a value as plain JSON, and not in an envelope such as `$blob`. */
function isStoredAs({ stored }: Item, json: Json): boolean {
  return envelopeKeyOf(stored) === undefined && isSameStored(stored, json);
}

function indexed(items: readonly Item[]): Index {
  return new Map(items.filter(({ number }) => number !== undefined).map((item) => [keyOfItem(item), item]));
}

function keyOfItem(item: Item): string {
  const known = keys.get(item);
  if (known !== undefined) return known;
  const key = keyOf(item.stored as Json);
  keys.set(item, key);
  return key;
}

/** Returns a quick hash key of a value: the length and three parts of its JSON text. */
function keyOf(json: Json): string {
  const text = JSON.stringify(json);
  const middle = text.length >> 1;
  return `${text.length} ${text.slice(0, 96)} ${text.slice(middle, middle + 24)} ${text.slice(-24)}`;
}

/** Returns whether a value is as short as a reference to it. */
function isShort(json: Json): boolean {
  if (typeof json === "string") return json.length <= longestText;
  if (typeof json !== "object" || json === null) return true;
  return Array.isArray(json) ? json.length === 0 : Object.keys(json).length === 0;
}

function isSameGraphValue(a: GraphValue, b: GraphValue): boolean {
  if (a.kind === "one") return b.kind === "one" && a.item === b.item;
  if (a.kind === "list") return b.kind === "list" && isSameList(a.list, b.list);
  if (a.kind === "map") return b.kind === "map" && isSameMap(a.entries, b.entries);
  return b.kind === "snapshot" && isSameGraphValue(a.value, b.value);
}

function isSameList(a: ItemList, b: ItemList): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a.at(at) !== b.at(at)) return false;
  return true;
}

function isSameMap(a: ReadonlyMap<string, Item>, b: ReadonlyMap<string, Item>): boolean {
  if (a.size !== b.size) return false;
  const others = b.entries();
  return [...a].every(([key, item]) => {
    const other = others.next().value;
    return other?.[0] === key && other[1] === item;
  });
}
