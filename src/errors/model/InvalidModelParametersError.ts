import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Model parameters hold an unknown name or a value of the wrong kind. Nothing was sent. */
export class InvalidModelParametersError extends AgentPersistenceError {
  override readonly code = "invalid_model_parameters";
  /** One line for each thing that is wrong. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[], known: readonly string[]) {
    super(
      `The model parameters cannot be used: ${problems.join("; ")}. Known are ${known.join(", ")}; ` +
        `what is particular to a provider goes in providerOptions.`,
    );
    this.problems = problems;
  }
}
