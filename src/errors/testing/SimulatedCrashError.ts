import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The crash that `crashAfter` simulates after `saves` saves: the storage has stopped, as if the process had ended. */
export class SimulatedCrashError extends AgentPersistenceError {
  override readonly code = "simulated_crash";

  constructor(readonly saves: number) {
    super(
      `The process crashed, as requested, after ${saves === 1 ? "1 save" : `${saves} saves`}. Continue with the wrapped storage.`,
    );
  }
}
