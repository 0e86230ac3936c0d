import { deleteOldest } from "../../internal/deleteOldest.ts";
import { fromUtf8 } from "../../internal/bytes.ts";
import { parsedJson } from "../../internal/parsedJson.ts";

type Learn = (value: unknown) => void;

interface StoredBytes {
  readonly bytes: Uint8Array;
  /** Whether a record refers to the value. */
  isUsed: boolean;
}

/** The bytes of values that are remembered, because a later record can refer to the same value. */
const mostBytes = 1024 * 1024;
const mostPlaces = 10_000;

/**
 * The values in the blobs of one agent. A record names the place of a value, and its blob has the value. The secrets of
 * the value are learned once both are known.
 */
export class BlobValues {
  readonly #stored = new Map<string, StoredBytes>();
  readonly #expected = new Map<string, Map<string, Learn>>();
  /** The references and places that were learned. */
  readonly #learned = new Set<string>();
  #bytes = 0;

  /** Adds a value before its record is stored. */
  add(reference: string, bytes: Uint8Array): void {
    this.read(reference, bytes);
    this.#forget(reference);
    this.#stored.set(reference, { bytes, isUsed: false });
    this.#bytes += bytes.length;
    for (const [oldest, { isUsed }] of this.#stored) {
      if (this.#bytes <= mostBytes) break;
      if (isUsed) this.#forget(oldest);
    }
  }

  /** Learns from a stored value that is read. */
  read(reference: string, bytes: Uint8Array): void {
    const expected = this.#expected.get(reference);
    this.#expected.delete(reference);
    for (const [place, learn] of expected ?? []) this.#learn(bytes, { name: nameOf(reference, place), learn });
  }

  /** Learns from the value of a record, at once or when it is read. @returns whether its secrets are known. */
  expect(reference: string, place: string, learn: Learn): boolean {
    const [stored, name] = [this.#stored.get(reference), nameOf(reference, place)];
    if (stored) stored.isUsed = true;
    if (this.#learned.has(name)) return true;
    if (stored) {
      this.#learn(stored.bytes, { name, learn });
      return true;
    }
    const expected = this.#expected.get(reference) ?? new Map<string, Learn>();
    this.#expected.set(reference, expected.set(place, learn));
    deleteOldest(this.#expected, mostPlaces);
    return false;
  }

  #learn(bytes: Uint8Array, { name, learn }: { readonly name: string; readonly learn: Learn }): void {
    learnFrom(bytes, learn);
    this.#learned.add(name);
    deleteOldest(this.#learned, mostPlaces);
  }

  #forget(reference: string): void {
    this.#bytes -= this.#stored.get(reference)?.bytes.length ?? 0;
    this.#stored.delete(reference);
  }
}

function nameOf(reference: string, place: string): string {
  return `${reference} ${place}`;
}

/** Other contents, such as compressed values and files, have no places of values. */
function learnFrom(bytes: Uint8Array, learn: Learn): void {
  const value = parsedJson(fromUtf8(bytes));
  if (value !== undefined) learn(value);
}
