import { z } from "zod";
import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import { type FileHolder, FileReservedError } from "../../errors/workspace/FileReservedError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { reservationsSchema } from "../state/Task.ts";
import { excludes } from "../state/findOverlaps.ts";

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

const argumentsSchema = z.object({
  files: reservationsSchema,
  options: strictOptions({ owner: z.string(), keepAlive: z.boolean().optional() }),
});

/** Reservations among the tasks of one process. Workers share reservations by sharing this object. */
export class InProcessReservations implements FileReservations {
  #held: readonly (FileReservation & FileHolder)[] = [];

  /** @throws FileReservedError when one of the files is not free; InvalidInputError. */
  async acquire(files: readonly FileReservation[], options: { readonly owner: string }): Promise<HeldReservation> {
    checkSchema(argumentsSchema, { files, options }, "reservation of files");
    const { owner } = options;
    for (const file of files) {
      const holders = this.#held.filter((held) => excludes(held, file));
      if (holders.length > 0) throw new FileReservedError(file.path, file.operation, holders);
    }
    const taken = files.map(({ path, operation }) => ({ path, operation, owner, expiresAt: "" }));
    this.#held = [...this.#held, ...taken];
    return { release: async () => void (this.#held = this.#held.filter((held) => !taken.includes(held))) };
  }
}
