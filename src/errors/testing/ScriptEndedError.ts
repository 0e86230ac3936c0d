import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A scripted model was asked for more answers than its script has. */
export class ScriptEndedError extends AgentPersistenceError {
  override readonly code = "script_ended";
  /** How many answers the script has. */
  readonly turns: number;
  /** Which one was asked for, from 0. */
  readonly turn: number;

  constructor(turns: number, turn: number) {
    super(
      `The scripted model has ${turns} answers, and the history already holds ${turn} of the model's. Add a turn to the script.`,
    );
    this.turns = turns;
    this.turn = turn;
  }
}
