/** A record of a log. The library defines all kinds. A storage handles records as plain JSON. */
export interface LogRecord {
  readonly kind: string;
}

/**
 * An append, which is the unit of storage. One checksum covers all its records, and it is stored completely or not at
 * all.
 */
export interface Entry {
  /** The number of the append, from 1, without gaps before pruning. */
  readonly position: number;
  readonly generation: number;
  readonly id: string;
  readonly records: readonly LogRecord[];
  /** SHA-256 of the stored form, in base64url. */
  readonly checksum: string;
  readonly prev: string;
}
