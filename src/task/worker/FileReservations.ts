import { resolve } from "node:path";
import { z } from "zod";
import type { FileReservation } from "../../checkpoint/status/TaskStatus.ts";
import { type FileHolder, FileReservedError } from "../../errors/workspaceErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";
import { reservationsSchema } from "../state/Task.ts";
import { excludes, type CanonicalReservation, canonicalReservation } from "../state/findOverlaps.ts";

/** The files that a task has reserved. */
export interface HeldReservation {
  /** Releases all files. */
  release(): Promise<void>;
}

/**
 * Reserves the files of tasks. A worker calls `acquire` before the worker starts a task. The class `Reservations` in
 * `agent-persistence/workspace` implements this interface for all processes of a machine.
 */
export interface FileReservations {
  /**
   * Reserves all files or rejects, without waiting. A file has one writer or any number of readers.
   *
   * @param options.owner the id of the task that holds the files.
   * @param options.keepAlive renews expiring reservations until they are released.
   * @throws FileReservedError if one of the files is not free.
   */
  acquire(
    files: readonly FileReservation[],
    options: { readonly owner: string; readonly keepAlive: true },
  ): Promise<HeldReservation>;
}

const argumentsSchema = z.object({
  files: reservationsSchema,
  options: strictOptions(() => ({ owner: z.string(), keepAlive: z.boolean().optional() })),
});

/** Options of {@link InProcessReservations}. */
export interface InProcessReservationsOptions {
  /** The base directory of relative paths. Defaults to the working directory of the process at the call. */
  readonly root?: string | undefined;
}

const optionsSchema = strictOptions(() => ({ root: nonEmptyString.optional() }));

/**
 * Reservations among the tasks of one process. Workers share reservations if they share this object. Different
 * spellings of a path count as the same file, even through linked directories.
 */
export class InProcessReservations implements FileReservations {
  readonly #root: string;
  #held: readonly (CanonicalReservation & FileHolder)[] = [];

  /** @throws InvalidInputError */
  constructor(options: InProcessReservationsOptions = {}) {
    checkSchema(optionsSchema, options, "options of the reservations");
    this.#root = resolve(options.root ?? ".");
  }

  /** @throws InvalidInputError. FileReservedError if one of the files is not free. */
  async acquire(files: readonly FileReservation[], options: { readonly owner: string }): Promise<HeldReservation> {
    checkSchema(argumentsSchema, { files, options }, "reservation of files");
    const { owner } = options;
    const wanted = files.map((file) => canonicalReservation(file, this.#root));
    for (const file of wanted) {
      const holders = this.#held.filter((held) => excludes(held, file));
      if (holders.length > 0) throw new FileReservedError(file.path, file.operation, holders);
    }
    const taken = wanted.map((file) => ({ ...file, owner, expiresAt: "" }));
    this.#held = [...this.#held, ...taken];
    return { release: async () => void (this.#held = this.#held.filter((held) => !taken.includes(held))) };
  }
}

/** Releases the files of a task. After a failure, the files become free when their reservation expires. */
export async function releaseHeld(taskId: string, held: HeldReservation): Promise<void> {
  try {
    await held.release();
  } catch (error) {
    warn("release_failed", `The files of task ${JSON.stringify(taskId)} could not be released: ${reasonOf(error)}`);
  }
}
