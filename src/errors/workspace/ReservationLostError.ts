import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A reservation was released, or has expired. The files that it covered must not be written any more. */
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
