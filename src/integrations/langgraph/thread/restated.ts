import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import type { CheckpointEntry, StoredCheckpoints, StoredPut, StoredWrite, PutFields } from "./Checkpoints.ts";
import type { GraphRecord, ItemsRecord, PutRecord, WritesRecord, ValueRecord } from "./GraphRecord.ts";
import { type Item, itemsOf, type GraphValue, valueChange, fieldsChange } from "./GraphValue.ts";
import { addToGroup } from "../../../internal/addToGroup.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";

/**
 * Yields the fewest records that make the state of a thread. Items and checkpoints keep their numbers.
 *
 * @param until the order of the last checkpoint. Defaults to the whole thread.
 */
export function* restated(state: StoredCheckpoints, until = Infinity): Generator<GraphRecord> {
  const isStored: IsStored = ({ order }) => order <= until;
  const items = usedItems(state, isStored);
  yield* itemRecords(items);
  // An empty record keeps the numbers of removed items unused.
  if (state.nextItem > (items.at(-1)?.number ?? -1) + 1) yield { kind: "items", first: state.nextItem, items: [] };
  const written: (StoredPut | WriteGroup)[] = [...state.puts.values(), ...writeGroups(state)];
  const last = new Map<string, StoredPut>();
  for (const each of written.filter(isStored).sort((a, b) => a.order - b.order)) {
    if (!("number" in each)) {
      yield writesRecord(each);
      continue;
    }
    yield restatedPut(each, state.puts, last.get(each.entry.namespace));
    last.set(each.entry.namespace, each);
  }
  yield* state.calls.restated(until);
}

/** Returns whether a checkpoint or a write is one of the wanted records. */
type IsStored = (stored: { readonly order: number }) => boolean;

function* itemRecords(items: readonly Item[]): Generator<ItemsRecord> {
  let run: { first: number; items: StoredValue[] } | undefined;
  for (const { number = 0, stored } of items) {
    if (run && run.first + run.items.length === number) {
      run.items.push(stored);
      continue;
    }
    if (run) yield { kind: "items", ...run };
    run = { first: number, items: [stored] };
  }
  if (run) yield { kind: "items", ...run };
}

function restatedPut(put: StoredPut, kept: ReadonlyMap<number, StoredPut>, last: StoredPut | undefined): PutRecord {
  const { entry, number, hidden } = put;
  const parent = put.parent && kept.has(put.parent.number) ? put.parent : undefined;
  const record = putRecord({ ...put, namespace: entry.namespace, id: entry.id }, parent, last);
  return { ...record, n: number, ...(hidden && { hidden }) };
}

interface WriteGroup {
  readonly order: number;
  readonly entry: CheckpointEntry;
  readonly writes: readonly StoredWrite[];
}

function writeGroups({ namespaces }: StoredCheckpoints): readonly WriteGroup[] {
  const entries = [...namespaces.values()].flatMap((namespace) => [...namespace.entries.values()]);
  return entries.flatMap((entry) => groupsIn(entry));
}

function groupsIn(entry: CheckpointEntry): readonly WriteGroup[] {
  const groups = new Map<number, StoredWrite[]>();
  for (const write of entry.writes) addToGroup(groups, write.order, write);
  return [...groups].map(([order, writes]) => ({ order, entry, writes }));
}

function writesRecord({ order, entry, writes }: WriteGroup): WritesRecord {
  const { task = "", path = "" } = writes[0] ?? {};
  const isPut = entry.put !== undefined && entry.put.order < order;
  return {
    kind: "writes",
    of: isPut && entry.put ? entry.put.number : entry.id,
    ...(!isPut && entry.namespace !== "" && { ns: entry.namespace }),
    task,
    ...(path !== "" && { path }),
    w: writes.map(({ channel, value, index }) => [channel, valueChange(undefined, value), index]),
  };
}

/** Returns the items with a number that checkpoints or writes use, sorted by number. */
export function usedItems({ puts, namespaces }: StoredCheckpoints, isStored: IsStored = () => true): readonly Item[] {
  const values = [...puts.values()].filter(isStored).flatMap((put) => [...put.values.values()]);
  const entries = [...namespaces.values()].flatMap((namespace) => [...namespace.entries.values()]);
  const written = entries.flatMap(({ writes }) => writes.filter(isStored).map(({ value }) => value));
  const used = new Set<Item>();
  for (const value of [...values, ...written]) for (const item of itemsOf(value)) used.add(item);
  return [...used].filter(({ number }) => number !== undefined).sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
}

interface PutDraft extends PutFields {
  readonly namespace: string;
  readonly id: string;
  readonly values: ReadonlyMap<string, GraphValue>;
}

/** Builds the record of a checkpoint as a difference to `parent`. @param last - the last one of the namespace. */
export function putRecord(draft: PutDraft, parent: StoredPut | undefined, last: StoredPut | undefined): PutRecord {
  const { namespace, id, parentId, ts, version, more } = draft;
  const set = [...draft.values].flatMap(([channel, value]) => changeOf(channel, parent?.values.get(channel), value));
  const unset = [...(parent?.values.keys() ?? [])].filter((channel) => !draft.values.has(channel));
  return {
    kind: "put",
    id,
    ...(namespace !== "" && { ns: namespace }),
    ...(parent !== last && { from: parent?.number ?? null }),
    ...(parentId !== undefined && parentId !== parent?.entry.id && { parent: parentId }),
    ts,
    ...(version !== 4 && { v: version }),
    ...fieldsOfPut(draft, parent),
    ...filled("more", more),
    ...filled("set", new Map(set)),
    ...(unset.length > 0 && { unset }),
  };
}

function filled(name: string, fields: ReadonlyMap<string, unknown>): object {
  return fields.size > 0 ? { [name]: Object.fromEntries(fields) } : {};
}

function fieldsOfPut(draft: PutDraft, parent: StoredPut | undefined): Pick<PutRecord, "meta" | "versions" | "seen"> {
  return withoutUndefined({
    meta: fieldsChange(parent?.meta, draft.meta),
    versions: fieldsChange(parent?.versions, draft.versions),
    seen: fieldsChange(parent?.seen, draft.seen),
  });
}

function changeOf(
  channel: string,
  before: GraphValue | undefined,
  after: GraphValue,
): readonly (readonly [string, ValueRecord])[] {
  return before === after ? [] : [[channel, valueChange(before, after)]];
}
