/** A file that a task will read or write. */
export interface FileReservation {
  /** Relative to the root of the reservations, or absolute. */
  readonly path: string;
  /** A file has many readers at once, or one writer. */
  readonly operation: "read" | "write";
}
