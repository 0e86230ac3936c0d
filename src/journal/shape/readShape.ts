import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ListOptions, RecordLog } from "../../storage/RecordLog.ts";
import { listLogs } from "../../storage/summaries.ts";
import { type ShapeDefinition, logIdOf, type ShapeState } from "./ShapeDefinition.ts";
import { type ReadRecords, readRecords, ShapeValues } from "./readRecords.ts";

export class ShapeView<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly state: State;
  readonly position: number;
  readonly records: ReadRecords<Rec, State>;
  readonly #values: ShapeValues;

  constructor(records: ReadRecords<Rec, State>, values: ShapeValues) {
    this.state = records.contents.state;
    this.position = records.end?.position ?? 0;
    this.records = records;
    this.#values = values;
  }

  get exists(): boolean {
    return this.position > 0;
  }

  read(values: readonly StoredValue[]): Promise<unknown[]> {
    return this.#values.read(values);
  }
}

/**
 * Reads the durable state of a log that belongs to no agent, without ownership.
 *
 * @param options.id The id without the prefix of its kind.
 * @param options.known The result of an earlier read. This call changes it, so do not use it afterwards.
 * @param options.whole Ignores appends that repeat a part of the state.
 * @throws WrongShapeError, CorruptLogError, UnreadableValueError, UnsupportedFormatError, UnsupportedRecordError
 */
export async function readShape<Rec extends LogRecord, State extends ShapeState<Rec>>(
  shape: ShapeDefinition<Rec, State>,
  { log, id }: { readonly log: RecordLog; readonly id: string },
  { known, whole }: { readonly known?: ShapeView<Rec, State> | undefined; readonly whole?: boolean } = {},
): Promise<ShapeView<Rec, State>> {
  const records = await readRecords(shape, log, id, { known: known?.records, whole });
  return new ShapeView(records, new ShapeValues(log, logIdOf(shape, id)));
}

interface ListedShape {
  readonly id: string;
  /** The position in a list. Pass it as `after` for the next page. */
  readonly order: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. The time of the last change, or up to one minute before it. */
  readonly updatedAt: string;
}

/** Lists the logs of one kind, last changed first. @param options.limit The maximum number. Defaults to no limit. */
export async function* listShape(
  shape: { readonly name: string },
  log: RecordLog,
  options: {
    readonly [Key in "after" | "limit" | "status" | "dueBefore" | "free"]?: ListOptions[Key] | undefined;
  } = {},
): AsyncGenerator<ListedShape> {
  const selection = withoutUndefined({ status: shape.name, ...options });
  const prefix = logIdOf(shape, "");
  for await (const { agentId, order, createdAt, updatedAt } of listLogs(log, selection))
    yield { id: agentId.slice(prefix.length), order, createdAt, updatedAt };
}

/** The maximum size of all cached logs. The last used log is always cached. */
const mostBytes = 32 * 1024 * 1024;
/** The maximum size of a log that is cached after its release. */
const mostKeptBytes = 4 * 1024 * 1024;

/** Reads the logs of one kind without owning them. Caches their states, so that only new appends are read. */
export class ShapeViews<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly #shape: ShapeDefinition<Rec, State>;
  readonly #log: RecordLog;
  readonly #most: number;
  readonly #views = new Map<string, ShapeView<Rec, State>>();

  /** @param most The maximum number of cached logs. */
  constructor(shape: ShapeDefinition<Rec, State>, log: RecordLog, most: number) {
    this.#shape = shape;
    this.#log = log;
    this.#most = most;
  }

  /** Returns the cached state, which later reads change. */
  known(id: string): State | undefined {
    return this.#views.get(id)?.state;
  }

  /** Removes a log from the cache and returns it, for an owner that puts it back with {@link keep}. */
  take(id: string): ReadRecords<Rec, State> | undefined {
    const known = this.#views.get(id)?.records;
    this.#views.delete(id);
    return known;
  }

  keep(id: string, records: ReadRecords<Rec, State>): void {
    this.#views.delete(id);
    // A cached state never drops old records, so it grows with each record. A new read starts at the newest part.
    if (records.contents.bytes > mostKeptBytes) return;
    this.#add(id, new ShapeView(records, new ShapeValues(this.#log, logIdOf(this.#shape, id))));
  }

  /** @param whole Reads the whole log, and not from an append that repeats a part. Defaults to `false`. */
  async read(id: string, whole = false): Promise<ShapeView<Rec, State>> {
    const known = whole ? undefined : this.#views.get(id);
    // Two concurrent reads must not change the same state.
    this.#views.delete(id);
    const view = await readShape(this.#shape, { log: this.#log, id }, { known, whole });
    // An owner that released the log during this read may have cached a newer state.
    if (view.exists && !this.#views.has(id)) this.#add(id, view);
    return view;
  }

  #add(id: string, view: ShapeView<Rec, State>): void {
    this.#views.set(id, view);
    let bytes = 0;
    for (const { records } of this.#views.values()) bytes += records.contents.bytes;
    for (const [oldest, { records }] of this.#views) {
      if (oldest === id || (this.#views.size <= this.#most && bytes <= mostBytes)) break;
      this.#views.delete(oldest);
      bytes -= records.contents.bytes;
    }
  }

  forget(id: string): void {
    this.#views.delete(id);
  }
}
