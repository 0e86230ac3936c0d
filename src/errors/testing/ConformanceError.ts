import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A storage does not do what its contract requires. Only the conformance suites throw it. */
export class ConformanceError extends AgentPersistenceError {
  override readonly code = "conformance_failed";

  constructor(
    /** What a storage must do: the name of the test. */
    readonly requirement: string,
    /** What was checked, such as `the latest checkpoint of agent "a" at .version`. */
    readonly subject: string,
    readonly expected: string,
    readonly found: string,
    options?: ErrorCause,
  ) {
    super(
      `The storage fails "${requirement}": expected ${subject} to be ${expected}, found ${found}. Correct the storage.`,
      options,
    );
  }
}
