import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";

/** Files that are reserved for a task until it releases them. */
export interface HeldReservation {
  /** Releases all files. */
  release(): Promise<void>;
}

/**
 * Reserves the files of tasks: a worker calls it before a task starts. `Reservations` of `agent-persistence/workspace`
 * implements it for all processes of a machine.
 */
export interface FileReservations {
  /**
   * Reserves all of the files or none, without waiting. A file has one writer or any number of readers.
   *
   * @param options.owner the id of the task that holds the files.
   * @param options.keepAlive reservations that expire are renewed until they are released.
   * @throws FileReservedError when one of the files is not free.
   */
  acquire(
    files: readonly FileReservation[],
    options: { readonly owner: string; readonly keepAlive: true },
  ): Promise<HeldReservation>;
}
