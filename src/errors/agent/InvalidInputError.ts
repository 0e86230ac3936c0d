import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** One thing that is wrong with a value. */
export interface InputProblem {
  /** Where in the value, such as "items.0.name"; empty for the value itself. */
  readonly path: string;
  /** What was expected, and what was found. */
  readonly expected: string;
}

/** A value is not what it has to be: an argument, an option, or what a schema of yours refuses. */
export class InvalidInputError extends AgentPersistenceError {
  override readonly code = "invalid_input";
  /** What the value was for, such as `input of node "check"`. */
  readonly subject: string;
  readonly problems: readonly InputProblem[];

  constructor(subject: string, problems: readonly InputProblem[]) {
    super(`Invalid ${subject}: ${describe(problems)}.`);
    this.subject = subject;
    this.problems = problems;
  }
}

function describe(problems: readonly InputProblem[]): string {
  return problems
    .map(({ path, expected }) => `at ${path === "" ? "the value itself" : `"${path}"`}: ${expected}`)
    .join("; ");
}
