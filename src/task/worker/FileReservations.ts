import { resolve } from "node:path";
import { z } from "zod";
import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import { type FileHolder, FileReservedError } from "../../errors/workspace/FileReservedError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { reservationsSchema } from "../state/Task.ts";
import { excludes, type ReservedFile, reservedFile } from "../state/findOverlaps.ts";

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

/** How {@link InProcessReservations} compares paths. */
export interface InProcessReservationsOptions {
  /** The folder that relative paths begin at. Default: the working directory of the process at the call. */
  readonly root?: string | undefined;
}

const optionsSchema = strictOptions({ root: nonEmptyString.optional() });

/**
 * Reservations among the tasks of one process. Workers share reservations by sharing this object. Two spellings of a path,
 * such as `./a` and the absolute path, name one file, also through links of folders.
 */
export class InProcessReservations implements FileReservations {
  readonly #root: string;
  #held: readonly (ReservedFile & FileHolder)[] = [];

  /** @throws InvalidInputError */
  constructor(options: InProcessReservationsOptions = {}) {
    checkSchema(optionsSchema, options, "options of the reservations");
    this.#root = resolve(options.root ?? ".");
  }

  /** @throws FileReservedError when one of the files is not free; InvalidInputError. */
  async acquire(files: readonly FileReservation[], options: { readonly owner: string }): Promise<HeldReservation> {
    checkSchema(argumentsSchema, { files, options }, "reservation of files");
    const { owner } = options;
    const wanted = files.map((file) => reservedFile(file, this.#root));
    for (const file of wanted) {
      const holders = this.#held.filter((held) => excludes(held, file));
      if (holders.length > 0) throw new FileReservedError(file.path, file.operation, holders);
    }
    const taken = wanted.map((file) => ({ ...file, owner, expiresAt: "" }));
    this.#held = [...this.#held, ...taken];
    return { release: async () => void (this.#held = this.#held.filter((held) => !taken.includes(held))) };
  }
}
