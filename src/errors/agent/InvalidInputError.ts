import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** One problem of an invalid value. */
export interface InputProblem {
  /** The location in the value, such as "items.0.name". Empty for the value itself. */
  readonly path: string;
  /** The expected and the actual value. */
  readonly expected: string;
}

/** An argument or option is invalid, or one of your schemas rejects a value. */
export class InvalidInputError extends AgentPersistenceError {
  override readonly code = "invalid_input";

  constructor(
    /** The role of the value, such as `input of node "check"`. */
    readonly subject: string,
    /** All problems, at least one. */
    readonly problems: readonly InputProblem[],
  ) {
    super(`Invalid ${subject}: ${summaryOf(problems)}.`);
  }
}

/** Joins the problems into one line. */
export function summaryOf(problems: readonly InputProblem[]): string {
  return problems.map(describe).join("; ");
}

function describe({ path, expected }: InputProblem): string {
  return path === "" ? expected : `at "${path}": ${expected}`;
}
