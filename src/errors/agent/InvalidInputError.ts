import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** One problem of a value. */
export interface InputProblem {
  /** Where in the value, such as "items.0.name"; empty for the value itself. */
  readonly path: string;
  /** What was expected and what was found. */
  readonly expected: string;
}

/** A value is invalid: an argument, an option, or a value that one of your schemas rejects. */
export class InvalidInputError extends AgentPersistenceError {
  override readonly code = "invalid_input";

  constructor(
    /** What the value is for, such as `input of node "check"`. */
    readonly subject: string,
    /** Every problem that was found; at least one. */
    readonly problems: readonly InputProblem[],
  ) {
    super(`Invalid ${subject}: ${summaryOf(problems)}.`);
  }
}

/** The problems in one line. */
export function summaryOf(problems: readonly InputProblem[]): string {
  return problems.map(describe).join("; ");
}

function describe({ path, expected }: InputProblem): string {
  return path === "" ? expected : `at "${path}": ${expected}`;
}
