import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A task was begun or continued as often as its worker allows, and each time ended before it got any further. */
export class TooManyAttemptsError extends AgentPersistenceError {
  override readonly code = "too_many_attempts";

  constructor(
    readonly taskId: string,
    /** How often it was begun or continued since it last got further. */
    readonly attempts: number,
  ) {
    super(
      `Task ${quoted(taskId)} was begun ${attempts} times at the same place, and each time its process ended or was ` +
        `stopped. Find out what ends it, then queue it again with retry().`,
    );
  }
}
