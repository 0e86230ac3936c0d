/** A file that a task will read or write. */
export interface FileReservation {
  /** In the form that the storage of reservations expects; the same text names the same file. */
  readonly path: string;
  /** A file has many readers at once, or one writer. */
  readonly operation: "read" | "write";
}
