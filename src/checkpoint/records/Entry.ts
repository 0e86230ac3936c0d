/** One record of an agent's log. The closed union of kinds is the library's own; a storage sees plain JSON. */
export interface LogRecord {
  readonly kind: string;
}

/** One append, read back: the unit of storage, with one checksum, holding all its records or none. */
export interface Entry {
  /** Numbers the appends of a log from 1, without gaps before pruning. */
  readonly position: number;
  /** The generation of the owner that wrote it. */
  readonly generation: number;
  /** Unique in the log. */
  readonly id: string;
  readonly records: readonly LogRecord[];
  /** SHA-256 over the stored form, base64url. */
  readonly checksum: string;
  /** The checksum of the append before; empty for the first. */
  readonly prev: string;
}
