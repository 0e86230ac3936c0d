import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The crash that `crashAfter` simulates after `saves` saves. The storage stops as if the process were killed. */
export class SimulatedCrashError extends AgentPersistenceError {
  override readonly code = "simulated_crash";

  constructor(readonly saves: number) {
    super(
      `The simulated crash happened after ${saves === 1 ? "1 save" : `${saves} saves`}. Continue with the wrapped storage.`,
    );
  }
}
