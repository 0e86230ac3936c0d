/** A file that a task will read or write. */
export interface FileReservation {
  /** As the storage of reservations understands it; the same text names the same file. */
  readonly path: string;
  /** Many may read a file at once; who writes it has it alone. */
  readonly operation: "read" | "write";
}
