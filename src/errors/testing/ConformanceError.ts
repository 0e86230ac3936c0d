import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import type { ErrorCause } from "../ErrorCause.ts";

/** A storage violates its contract. Only the conformance suites throw this error. */
export class ConformanceError extends AgentPersistenceError {
  override readonly code = "conformance_failed";

  constructor(
    /** The requirement, which is the name of the test. */
    readonly requirement: string,
    /** The checked value, such as `the latest checkpoint of agent "a" at .version`. */
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
