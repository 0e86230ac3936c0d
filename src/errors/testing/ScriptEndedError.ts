import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A scripted model was asked for more answers than its script has. */
export class ScriptEndedError extends AgentPersistenceError {
  override readonly code = "script_ended";

  constructor(
    /** How many answers the script has. */
    readonly turns: number,
    /** Which answer was requested, counted from 0. */
    readonly turn: number,
  ) {
    super(
      `The scripted model has ${turns} answers, and the message history already holds ${turn}. Add a turn to the script.`,
    );
  }
}
