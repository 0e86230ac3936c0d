/**
 * The beginning of an append at the end of a log, which readers skip. A crash leaves it of an append that was never
 * acknowledged. Damage that cut the file looks the same.
 */
export interface TornTail {
  /** The file, or the part of the storage, that holds it. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly bytes: number;
}
