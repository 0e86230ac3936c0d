import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Model parameters have an unknown name or an invalid value. Nothing was sent. */
export class InvalidModelParametersError extends AgentPersistenceError {
  override readonly code = "invalid_model_parameters";

  constructor(
    /** One text for each problem. */
    readonly problems: readonly string[],
    known: readonly string[],
  ) {
    super(
      `The model parameters are invalid: ${problems.join("; ")}. Use ${known.join(", ")}; ` +
        `put the parameters of one provider in providerOptions.`,
    );
  }
}
