import { fromUtf8 } from "../../internal/bytes.ts";

/** Learns the secrets of a value. */
type Learn = (value: unknown) => void;

interface StoredBytes {
  readonly bytes: Uint8Array;
  /** Whether a record refers to the value. */
  isUsed: boolean;
}

/** The bytes of values that are remembered, because a later record can refer to the same value. */
const mostBytes = 1024 * 1024;
const mostExpected = 10_000;

/**
 * The values in the blobs of one agent. A record with a blob shows where its value belongs, and the blob has the value, so
 * the secrets of the value are learned once both are known.
 */
export class BlobValues {
  readonly #stored = new Map<string, StoredBytes>();
  readonly #expected = new Map<string, Map<string, Learn>>();
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
    for (const learn of expected?.values() ?? []) learnFrom(bytes, learn);
  }

  /**
   * Learns from the value of a record, at once or when the value is read.
   *
   * @param place - the place of the value in the record. Each place is learned once.
   */
  expect(reference: string, place: string, learn: Learn): void {
    const stored = this.#stored.get(reference);
    if (stored) {
      stored.isUsed = true;
      return learnFrom(stored.bytes, learn);
    }
    const expected = this.#expected.get(reference) ?? new Map<string, Learn>();
    this.#expected.set(reference, expected.set(place, learn));
    for (const oldest of this.#expected.keys()) {
      if (this.#expected.size <= mostExpected) break;
      this.#expected.delete(oldest);
    }
  }

  #forget(reference: string): void {
    this.#bytes -= this.#stored.get(reference)?.bytes.length ?? 0;
    this.#stored.delete(reference);
  }
}

/** Other contents, such as compressed values and files, have no places of values. */
function learnFrom(bytes: Uint8Array, learn: Learn): void {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(bytes));
  } catch {
    return;
  }
  learn(value);
}
