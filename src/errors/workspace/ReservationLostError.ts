import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A reservation was released, or expired and went to somebody else. What it covered must not be written any more. */
export class ReservationLostError extends AgentPersistenceError {
  override readonly code = "reservation_lost";
  readonly owner: string;
  readonly path: string;

  constructor(owner: string, path: string) {
    super(
      `${JSON.stringify(owner)} no longer has ${JSON.stringify(path)} reserved: it was released, or it expired. ` +
        "Reserve it again, and look at the file again before writing it.",
    );
    this.owner = owner;
    this.path = path;
  }
}
