import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A model parameter has an unknown name or an invalid value. The request was not sent. */
export class InvalidModelParametersError extends AgentPersistenceError {
  override readonly code = "invalid_model_parameters";

  constructor(
    /** One text per problem. */
    readonly problems: readonly string[],
    known: readonly string[],
  ) {
    super(
      `The model parameters are invalid: ${problems.join("; ")}. Use ${known.join(", ")}. ` +
        `Put provider-specific parameters in providerOptions.`,
    );
  }
}
