import type { ShapeState } from "../../../journal/shape/ShapeDefinition.ts";
import { type CheckpointEntry, type Namespace, type StoredPut, isCopy, writesBefore } from "./Checkpoints.ts";
import { type GraphValue, type Item, changedValue, type FindItem, changedFields, fieldsOf } from "./GraphValue.ts";
import type {
  ForgetRecord,
  GraphRecord,
  ItemsRecord,
  PutRecord,
  WritesRecord,
  StoredCallEnd,
  CallEndRecord,
  CallRecord,
  WriteEntry,
} from "./GraphRecord.ts";
import { restated, usedItems } from "./restated.ts";
import { ERROR, INTERRUPT } from "@langchain/langgraph-checkpoint";

export interface StoredCall extends Omit<CallRecord, "kind" | "of" | "end"> {
  /** The checkpoint that the task follows. */
  readonly entry: CheckpointEntry;
  /** `undefined` if the call started and no outcome is recorded. */
  readonly end: StoredCallEnd | undefined;
}

/** Returns whether the writes of the task of a call are stored. */
export function isFinished({ entry, task }: StoredCall): boolean {
  return entry.writes.some((write) => write.task === task && write.index >= 0);
}

/**
 * The calls of tasks that can run again. Once a later checkpoint is stored, the calls of finished tasks are forgotten,
 * unless a task was interrupted: LangGraph runs all tasks again if the interrupt is answered a second time.
 */
class ThreadCalls {
  /** By task, then by position. */
  readonly #tasks = new Map<string, Map<string, StoredCall>>();
  readonly #byId = new Map<string, StoredCall>();

  of(task: string): readonly StoredCall[] {
    return [...(this.#tasks.get(task)?.values() ?? [])];
  }

  get(id: string): StoredCall | undefined {
    return this.#byId.get(id);
  }

  all(): readonly StoredCall[] {
    return [...this.#tasks.values()].flatMap((calls) => [...calls.values()]);
  }

  begin({ kind: _kind, of: _of, end, ...facts }: CallRecord, entry: CheckpointEntry): void {
    this.#set({ ...facts, entry, end });
  }

  /** Records the end of a call. The call is missing if its task finished without waiting for it. */
  end({ call: id, end }: CallEndRecord): void {
    const call = this.get(id);
    if (call) this.#set({ ...call, end });
  }

  /** Makes the failed calls of a failed task be repeated. */
  written(task: string, writes: readonly WriteEntry[]): void {
    if (!writes.some(([channel]) => channel === ERROR)) return;
    for (const call of this.of(task)) if (call.end?.error !== undefined) this.#set({ ...call, end: {} });
  }

  /** Forgets the calls that no run needs, because a checkpoint follows this one. */
  followed(entry: CheckpointEntry): void {
    if (entry.writes.some(({ channel }) => channel === INTERRUPT)) return;
    this.keep((call) => call.entry !== entry || !isFinished(call));
  }

  /** Keeps the tasks whose first call passes a test. */
  keep(isKept: (call: StoredCall) => boolean): void {
    for (const [task, calls] of this.#tasks) {
      const [first] = calls.values();
      if (first && isKept(first)) continue;
      this.#tasks.delete(task);
      for (const { call } of calls.values()) this.#byId.delete(call);
    }
  }

  /** @param until the order of the last checkpoint. A task that has finished since then makes new calls. */
  *restated(until: number): Generator<CallRecord> {
    for (const call of this.all()) {
      const { entry, end, ...facts } = call;
      if (!entry.put || entry.put.order > until || (until < Infinity && isFinished(call))) continue;
      yield { kind: "call", ...facts, of: entry.put.number, ...(end && { end }) };
    }
  }

  #set(call: StoredCall): void {
    const calls = this.#tasks.get(call.task) ?? new Map<string, StoredCall>();
    const replaced = calls.get(call.at);
    if (replaced) this.#byId.delete(replaced.call);
    this.#tasks.set(call.task, calls.set(call.at, call));
    this.#byId.set(call.call, call);
  }
}

export class ThreadState implements ShapeState<GraphRecord> {
  readonly items = new Map<number, Item>();
  readonly puts = new Map<number, StoredPut>();
  readonly namespaces = new Map<string, Namespace>();
  readonly calls = new ThreadCalls();
  nextItem = 0;
  nextPut = 0;
  #order = 0;

  /** @throws RangeError if the record contradicts earlier records */
  add(record: GraphRecord): void {
    if (record.kind === "items") this.#addItems(record);
    else if (record.kind === "put") this.#addPut(record);
    else if (record.kind === "writes") this.#addWrites(record);
    else if (record.kind === "forget") this.#forget(record);
    else if (record.kind === "call") this.calls.begin(record, this.#known(record.of).entry);
    else this.calls.end(record);
  }

  entry(namespace: string, id: string): CheckpointEntry | undefined {
    return this.namespaces.get(namespace)?.entries.get(id);
  }

  restate(): Iterable<GraphRecord> {
    return restated(this);
  }

  /** Returns the last checkpoint with this id. `undefined` for a missing or pruned checkpoint. */
  put(namespace: string, id: string): StoredPut | undefined {
    const put = this.entry(namespace, id)?.put;
    return put?.hidden ? undefined : put;
  }

  latest(namespace: string): StoredPut | undefined {
    const stored = this.namespaces.get(namespace)?.stored ?? [];
    return stored.findLast(({ put }) => put && !put.hidden)?.put;
  }

  readonly find: FindItem = (number) => {
    const item = this.items.get(number);
    if (!item) throw new RangeError(`there is no item ${number}`);
    return item;
  };

  #addItems({ items, first = this.nextItem }: ItemsRecord): void {
    for (const [at, stored] of items.entries()) this.items.set(first + at, { number: first + at, stored });
    this.nextItem = Math.max(this.nextItem, first + items.length);
  }

  #addPut(record: PutRecord): void {
    const namespace = this.#namespace(record.ns ?? "");
    const entry = entryOf(namespace, record.ns ?? "", record.id);
    const parent = this.#parentOf(record, namespace);
    const number = record.n ?? this.nextPut;
    if (this.puts.has(number)) throw new RangeError(`there are two puts ${number}`);
    const put: StoredPut = {
      number,
      order: this.#order++,
      entry,
      parent,
      parentId: record.parent ?? parent?.entry.id,
      ts: record.ts,
      version: record.v ?? 4,
      ...fieldsAfter(parent, record),
      values: this.#valuesOf(record, parent),
      hidden: record.hidden ?? false,
    };
    this.puts.set(number, put);
    this.nextPut = Math.max(this.nextPut, number + 1);
    this.#place(namespace, put);
  }

  #place(namespace: Namespace, put: StoredPut): void {
    const { entry, parentId } = put;
    if (!entry.put) namespace.stored.push(entry);
    entry.put = put;
    namespace.last = put;
    if (parentId === undefined) return;
    const parent = entryOf(namespace, entry.namespace, parentId);
    parent.children.push(put);
    this.calls.followed(parent);
  }

  #parentOf({ from }: PutRecord, namespace: Namespace): StoredPut | undefined {
    if (from === null) return undefined;
    return from === undefined ? namespace.last : this.#known(from);
  }

  #valuesOf({ set = {}, unset = [] }: PutRecord, parent: StoredPut | undefined): ReadonlyMap<string, GraphValue> {
    const values = new Map(parent?.values);
    for (const channel of unset) values.delete(channel);
    for (const [channel, value] of Object.entries(set))
      values.set(channel, changedValue(parent?.values.get(channel), value, this.find));
    return values;
  }

  #addWrites({ of, ns = "", task, path = "", w }: WritesRecord): void {
    const order = this.#order++;
    const entry = typeof of === "string" ? entryOf(this.#namespace(ns), ns, of) : this.#known(of).entry;
    for (const [at, [channel, value, index = at]] of w.entries())
      entry.writes.push({ order, task, path, index, channel, value: changedValue(undefined, value, this.find) });
    this.calls.written(task, w);
  }

  #forget({ drop, hide }: ForgetRecord): void {
    for (const number of drop) this.#drop(this.#known(number));
    for (const [number, channels] of hide) this.#hide(this.#known(number), new Set(channels));
    for (const put of this.puts.values()) if (put.parent && !this.puts.has(put.parent.number)) put.parent = undefined;
    for (const namespace of this.namespaces.values()) namespace.last = this.#lastIn(namespace);
    this.calls.keep(({ entry: { put } }) => put !== undefined && !put.hidden && this.puts.has(put.number));
    this.#dropUnusedItems();
  }

  #known(number: number): StoredPut {
    const put = this.puts.get(number);
    if (!put) throw new RangeError(`there is no put ${number}`);
    return put;
  }

  #drop(put: StoredPut): void {
    this.puts.delete(put.number);
    const { entry } = put;
    const namespace = this.namespaces.get(entry.namespace);
    if (!namespace || entry.put !== put) return;
    namespace.stored.splice(namespace.stored.indexOf(entry), 1);
    namespace.entries.delete(entry.id);
    if (namespace.stored.length === 0) this.namespaces.delete(entry.namespace);
  }

  #hide(put: StoredPut, channels: ReadonlySet<string>): void {
    put.hidden = true;
    put.values = new Map([...put.values].filter(([channel]) => channels.has(channel)));
    const { entry } = put;
    // A copy uses the writes of its original, which is kept while a copy needs it.
    const children = entry.children.filter((child) => this.puts.has(child.number) && !isCopy(child));
    const counted = children.flatMap((child) => writesBefore(entry, child));
    entry.writes = [...new Set(counted)].filter(({ channel }) => channels.has(channel));
  }

  #lastIn(namespace: Namespace): StoredPut | undefined {
    const puts = [...this.puts.values()].filter(({ entry }) => namespace.entries.get(entry.id) === entry);
    return puts.reduce<StoredPut | undefined>((last, put) => (last && last.order > put.order ? last : put), undefined);
  }

  #dropUnusedItems(): void {
    const used = new Set(usedItems(this));
    for (const [number, item] of this.items) if (!used.has(item)) this.items.delete(number);
  }

  #namespace(name: string): Namespace {
    let namespace = this.namespaces.get(name);
    if (!namespace) {
      namespace = { entries: new Map(), stored: [], last: undefined };
      this.namespaces.set(name, namespace);
    }
    return namespace;
  }
}

function entryOf({ entries }: Namespace, namespace: string, id: string): CheckpointEntry {
  let entry = entries.get(id);
  if (!entry) {
    entry = { namespace, id, put: undefined, writes: [], children: [] };
    entries.set(id, entry);
  }
  return entry;
}

function fieldsAfter(
  parent: StoredPut | undefined,
  record: PutRecord,
): Pick<StoredPut, "meta" | "versions" | "seen" | "more"> {
  return {
    meta: changedFields(parent?.meta, record.meta),
    versions: changedFields(parent?.versions, record.versions),
    seen: changedFields(parent?.seen, record.seen),
    more: fieldsOf(record.more ?? {}),
  };
}
