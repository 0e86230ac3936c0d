import { count, text } from "../../../src/checkpoint/format/fieldTests.ts";
import type { LogRecord } from "../../../src/checkpoint/records/Entry.ts";
import type { StoredValue } from "../../../src/checkpoint/values/valueCodec.ts";
import type { ShapeDefinition, ShapeState } from "../../../src/journal/shape/ShapeDefinition.ts";

/** A record of a log that is a list of values. */
export type ListRecord = AddRecord | RemoveRecord;

interface AddRecord extends LogRecord {
  readonly kind: "add";
  readonly number: number;
  readonly name: string;
  readonly value: StoredValue;
}

interface RemoveRecord extends LogRecord {
  readonly kind: "remove";
  readonly number: number;
}

/** Values by their numbers, in the order in which they were added. */
export class ListState implements ShapeState<ListRecord> {
  readonly items = new Map<number, AddRecord>();

  add(record: ListRecord): void {
    if (record.kind === "add") this.items.set(record.number, record);
    else if (!this.items.delete(record.number)) throw new RangeError(`there is no item ${record.number}`);
  }

  restate(): Iterable<ListRecord> {
    return this.items.values();
  }

  get names(): readonly string[] {
    return [...this.items.values()].map(({ name }) => name);
  }
}

/** A shape of logs for tests. */
export const listShapeOf = (name: "thread" | "session", version = 1): ShapeDefinition<ListRecord, ListState> => ({
  name,
  version,
  records: { add: { number: count, name: text }, remove: { number: count } },
  values: (record) => (record.kind === "add" ? [record.value] : []),
  begin: () => new ListState(),
});
