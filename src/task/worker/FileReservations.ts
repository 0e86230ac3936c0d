import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";

/** Files that a task has to itself, or reads with others, until it gives them back. */
export interface HeldReservation {
  /** Gives all of them back. */
  release(): Promise<void>;
}

/**
 * Who may read and write which files: a worker asks before a task starts. `Reservations` of `agent-persistence/workspace`
 * is one for all processes of a machine.
 */
export interface FileReservations {
  /**
   * Takes all of the files or none, and does not wait. Whoever writes a file has it alone; many may read one.
   *
   * @param options.owner who holds them from then on: the id of a task.
   * @param options.keepAlive what expires by itself is renewed for as long as the task runs.
   * @throws FileReservedError when one of them is not free.
   */
  acquire(
    files: readonly FileReservation[],
    options: { readonly owner: string; readonly keepAlive: true },
  ): Promise<HeldReservation>;
}
