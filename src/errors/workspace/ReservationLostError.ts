import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A reservation was released or expired. Do not write the files that it covered. */
export class ReservationLostError extends AgentPersistenceError {
  override readonly code = "reservation_lost";

  constructor(
    readonly owner: string,
    /** Relative to the root of the workspace. */
    readonly path: string,
  ) {
    super(
      `${quoted(owner)} no longer holds the reservation of ${JSON.stringify(path)}: it was released or has expired. ` +
        "Reserve the file again, and read it again before you write it.",
    );
  }
}
