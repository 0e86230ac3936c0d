import { addToGroup } from "../../internal/addToGroup.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { PrunedRecord } from "../../checkpoint/records/AgentRecord.ts";
import { addBlobReference } from "../../checkpoint/records/blobReferences.ts";
import { pruningIn } from "../../checkpoint/pruning/liveEntries.ts";
import { emptyState } from "../../checkpoint/state/AgentState.ts";
import { lineValue } from "../../checkpoint/state/lineValue.ts";
import { type BlobTexts, ValueReader } from "../../checkpoint/state/ValueReader.ts";
import type { BlobCell } from "../../checkpoint/values/BlobCell.ts";
import { envelopeKeyOf, resultsIn, type StoredValue } from "../../checkpoint/values/valueCodec.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { fetchBlobs } from "../../storage/blobs.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { AgentIndex } from "./AgentIndex.ts";
import { valueIn, StoredAt } from "./leanRecord.ts";
import { isDamage, problemOf } from "./readIndex.ts";
import type { ShownValue } from "../view/viewParts.ts";

/** Appends whose positions differ by at most this number are read together. */
const widestGap = 256;
/** The maximum number of references from value to value. Forged references can be cyclic. */
const mostRounds = 20;

/** Reads the values that views show. Call `load` before `show`. */
export class ValueLoader {
  readonly #log: RecordLog;
  readonly #index: AgentIndex;
  readonly #slots = new Map<StoredAt, StoredValue>();
  #blobs: BlobTexts = new Map();
  #reader = new ValueReader(emptyState, this.#blobs);
  readonly #maxLength: number;

  /** @param maxLength - the maximum number of characters and items per value. */
  constructor(log: RecordLog, index: AgentIndex, maxLength: number) {
    this.#log = log;
    this.#index = index;
    this.#maxLength = maxLength;
  }

  /** Reads values and the values that they refer to. Ignores items that are not a {@link StoredAt}. */
  async load(values: Iterable<unknown>): Promise<void> {
    const wanted = [...values].filter((value) => value instanceof StoredAt);
    let missing = wanted.filter((value) => !this.#slots.has(value));
    for (let round = 0; missing.length > 0 && round < mostRounds; round++) {
      await this.#read(missing);
      const referred = missing.flatMap((value) => storedIn(this.#slots.get(value)));
      missing = referred.filter((value) => !this.#slots.has(value));
    }
    await this.#fetch(wanted);
  }

  /** Reads the stored values that {@link slot} returns. */
  get reader(): ValueReader {
    return this.#reader;
  }

  /** Returns the stored form of a loaded value, which can refer only to blobs. @throws UnreadableValueError */
  slot(value: unknown): StoredValue {
    return value instanceof StoredAt ? this.#slotOf(value) : value;
  }

  /** Returns a decoded value. @throws UnreadableValueError for a missing value. @throws CorruptBlobError */
  decoded(value: unknown): unknown {
    return value instanceof StoredAt ? this.#reader.read(this.#slotOf(value)) : value;
  }

  show(value: unknown): ShownValue {
    try {
      return shownValue(this.decoded(value), this.#maxLength);
    } catch (error) {
      return { unreadable: problemOf(error) };
    }
  }

  async #read(values: readonly StoredAt[]): Promise<void> {
    const byPosition = new Map<number, StoredAt[]>();
    for (const value of values) addToGroup(byPosition, value.position, value);
    const take = (entry: Pick<Entry, "position" | "records">): void => {
      for (const value of byPosition.get(entry.position) ?? []) this.#keep(value, valueIn(entry, value));
      byPosition.delete(entry.position);
    };
    const { upTo = 0, position: prunedAt = 0 } = this.#index.pruning ?? {};
    const positions = [...byPosition.keys()].toSorted((a, b) => a - b);
    if (positions.some((position) => position <= upTo))
      await this.#each([prunedAt, prunedAt], ({ records }) => {
        const pruned = pruningIn([{ records } as Entry]);
        for (const entry of (pruned as PrunedRecord | undefined)?.restated ?? []) take(entry);
      });
    for (const range of rangesOf(positions.filter((position) => position > upTo))) await this.#each(range, take);
  }

  async #each([first, last]: readonly [number, number], take: (entry: Entry) => void): Promise<void> {
    try {
      for await (const entry of this.#log.read(this.#index.agentId, { after: first - 1, upTo: last })) take(entry);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }

  #keep(value: StoredAt, slot: StoredValue): void {
    const { lane, order } = value;
    this.#slots.set(value, lane < 0 ? slot : lineValue(this.#index.log, lane, slot, order));
  }

  async #fetch(values: readonly StoredAt[]): Promise<void> {
    const references = new Map<string, BlobCell>();
    for (const value of values) addBlobReference(this.#slotOf(value, true), references);
    for (const known of this.#blobs.keys()) references.delete(known);
    if (references.size === 0) return;
    this.#blobs = new Map([...this.#blobs, ...(await fetchBlobs(this.#log, this.#index.agentId, references))]);
    this.#reader = new ValueReader(emptyState, this.#blobs);
  }

  /** Resolves all references of a value except those to blobs. */
  #slotOf(value: StoredAt, isMissing = false): StoredValue {
    let at: StoredValue = value;
    for (let round = 0; at instanceof StoredAt && round < mostRounds; round++) at = this.#slots.get(at);
    if (at instanceof StoredAt || (at === undefined && !this.#slots.has(value))) {
      if (isMissing) return undefined;
      throw new UnreadableValueError("the append with the value cannot be read");
    }
    if (envelopeKeyOf(at) !== "$outcomes") return at;
    const outputOf = (output: StoredValue) => (output instanceof StoredAt ? this.#slotOf(output, isMissing) : output);
    return {
      $outcomes: resultsIn(at).map((each) => ("output" in each ? { ...each, output: outputOf(each.output) } : each)),
    };
  }
}

function storedIn(slot: StoredValue): readonly StoredAt[] {
  if (slot instanceof StoredAt) return [slot];
  return resultsIn(slot).flatMap(({ output }) => (output instanceof StoredAt ? [output] : []));
}

/** Groups sorted positions into inclusive ranges, which include small gaps. */
function rangesOf(positions: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last && position - last[1] <= widestGap) last[1] = position;
    else ranges.push([position, position]);
  }
  return ranges;
}

/** The maximum depth of a shown value, because callers may process the value recursively. */
const mostLevels = 100;

interface Budget {
  left: number;
  cut: boolean;
}

/** Converts a decoded value to limited JSON without cycles. @param most - the maximum of characters and items. */
export function shownValue(value: unknown, most: number): ShownValue {
  const budget: Budget = { left: most, cut: false };
  const shown = plain(value, budget, 0);
  return budget.cut ? { value: shown, cut: true } : { value: shown };
}

function plain(value: unknown, budget: Budget, level: number): unknown {
  budget.left--;
  if (typeof value === "string") return text(value, budget);
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (value === undefined) return null;
  if (typeof value !== "object") return text((value as bigint | symbol).toString(), budget);
  if (level >= mostLevels) return left("deeper levels", budget);
  if (Array.isArray(value)) return list(value, budget, level);
  return known(value, budget, level) ?? fields(Object.entries(value), budget, level);
}

function known(value: object, budget: Budget, level: number): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (ArrayBuffer.isView(value)) return { $bytes: value.byteLength };
  if (value instanceof Map) return list([...(value as Map<unknown, unknown>)], budget, level);
  if (value instanceof Set) return list([...(value as Set<unknown>)], budget, level);
  if (value instanceof Error)
    return fields(Object.entries({ name: value.name, message: value.message }), budget, level);
  if (value instanceof RegExp || value instanceof URL) return text(String(value), budget);
  return undefined;
}

function list(items: readonly unknown[], budget: Budget, level: number): unknown[] {
  const shown: unknown[] = [];
  for (const item of items) {
    if (budget.left <= 0) {
      shown.push(left(`${items.length - shown.length} more items`, budget));
      break;
    }
    shown.push(plain(item, budget, level + 1));
  }
  return shown;
}

function fields(entries: readonly (readonly [string, unknown])[], budget: Budget, level: number): object {
  const shown: [string, unknown][] = [];
  for (const [key, item] of entries) {
    if (budget.left <= 0) {
      shown.push(["…", left(`${entries.length - shown.length} more fields`, budget)]);
      break;
    }
    budget.left -= key.length;
    shown.push([key, plain(item, budget, level + 1)]);
  }
  // Keeps a field named `__proto__` as an ordinary field.
  return Object.fromEntries(shown);
}

function text(value: string, budget: Budget): string {
  const most = Math.max(0, budget.left);
  budget.left -= value.length;
  if (value.length <= most) return value;
  return value.slice(0, most) + left(`${value.length - most} more characters`, budget);
}

function left(what: string, budget: Budget): string {
  budget.cut = true;
  return `… (${what})`;
}
