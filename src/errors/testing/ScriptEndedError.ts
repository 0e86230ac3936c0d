import { AgentPersistenceError } from "../AgentPersistenceError.ts";

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
      `The scripted model has ${turns} responses, and the message history already contains ${turn}. Add a turn to the script.`,
    );
  }
}
