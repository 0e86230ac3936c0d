import { AgentPersistenceError, type ErrorCause } from "./AgentPersistenceError.ts";

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

/** A scripted model received more requests than its script has responses. */
export class ScriptEndedError extends AgentPersistenceError {
  override readonly code = "script_ended";

  constructor(
    /** The number of responses in the script. */
    readonly turns: number,
    /** The index of the requested response, counted from 0. */
    readonly turn: number,
  ) {
    super(
      `The scripted model has ${turns} response${turns === 1 ? "" : "s"}, and the message history already contains ${turn}. Add a turn to the script.`,
    );
  }
}

/** The crash that `crashAfter` simulates after `saves` saves. The storage stops as if the process were killed. */
export class SimulatedCrashError extends AgentPersistenceError {
  override readonly code = "simulated_crash";

  constructor(readonly saves: number) {
    super(
      `The simulated crash happened after ${saves === 1 ? "1 save" : `${saves} saves`}. Continue with the wrapped storage.`,
    );
  }
}
