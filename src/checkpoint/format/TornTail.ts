/**
 * An incomplete append at the end of a log, which readers skip. A crash leaves an incomplete append that was never
 * acknowledged. Damage that truncates the file looks the same.
 */
export interface TornTail {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly bytes: number;
}
