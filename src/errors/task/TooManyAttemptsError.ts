import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

/** A task reached the maximum number of attempts of its worker without progress. */
export class TooManyAttemptsError extends AgentPersistenceError {
  override readonly code = "too_many_attempts";

  constructor(
    readonly taskId: string,
    /** The number of attempts since the last progress. */
    readonly attempts: number,
  ) {
    super(
      `Task ${quoted(taskId)} started ${attempts} times at the same position, and its process crashed or was stopped each time. ` +
        `Fix the cause, then queue the task again with retry().`,
    );
  }
}
