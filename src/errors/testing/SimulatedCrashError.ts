import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** The crash that `crashAfter` was asked for: the storage has stopped, as if the process had ended. */
export class SimulatedCrashError extends AgentPersistenceError {
  readonly code = "simulated_crash";
  /** How many saves went through before. */
  readonly saves: number;

  constructor(saves: number) {
    super(`The process was made to crash after ${saves === 1 ? "1 save" : `${saves} saves`}.`);
    this.saves = saves;
  }
}
