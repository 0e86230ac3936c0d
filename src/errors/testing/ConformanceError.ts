import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A storage does not do what its contract asks. Thrown by the conformance suites alone. */
export class ConformanceError extends AgentPersistenceError {
  override readonly code = "conformance_failed";
  /** What a storage must do: the name of the test. */
  readonly requirement: string;
  /** What was looked at, such as `the latest checkpoint of agent "a" at .version`. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;

  constructor(
    requirement: string,
    difference: { readonly subject: string; readonly expected: string; readonly found: string },
    options?: { readonly cause?: unknown },
  ) {
    const { subject, expected, found } = difference;
    super(`The storage fails "${requirement}": ${subject} should be ${expected} and is ${found}.`, options);
    this.requirement = requirement;
    this.subject = subject;
    this.expected = expected;
    this.found = found;
  }
}
