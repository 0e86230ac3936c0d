import type { FileReservation } from "../../checkpoint/status/FileReservation.ts";
import { FileReservedError, type FileHolder } from "../../errors/workspace/FileReservedError.ts";
import type { FileReservations, HeldReservation } from "./FileReservations.ts";
import { excludes } from "../findOverlaps.ts";

/** Reservations among the tasks of one process. Workers that share an object of it share its reservations. */
export class InProcessReservations implements FileReservations {
  #held: readonly (FileReservation & FileHolder)[] = [];

  async acquire(files: readonly FileReservation[], { owner }: { readonly owner: string }): Promise<HeldReservation> {
    for (const file of files) {
      const holders = this.#held.filter((held) => excludes(held, file));
      if (holders.length > 0) throw new FileReservedError(file.path, file.operation, holders);
    }
    const taken = files.map(({ path, operation }) => ({ path, operation, owner, expiresAt: "" }));
    this.#held = [...this.#held, ...taken];
    return { release: async () => void (this.#held = this.#held.filter((held) => !taken.includes(held))) };
  }
}
