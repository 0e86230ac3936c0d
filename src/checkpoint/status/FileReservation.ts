/** A file that a task will read or write. */
export interface FileReservation {
  /** Absolute, or relative to the root of the reservations. */
  readonly path: string;
  /** A file can have many concurrent readers, or one writer. */
  readonly operation: "read" | "write";
}
