import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An operation requires a feature that is not installed. */
export class FeatureNotInstalledError extends AgentPersistenceError {
  override readonly code = "feature_not_installed";

  constructor(
    readonly feature: string,
    /**
     * The operation or agent that requires the feature, such as `resume()`. Omitted if the caller requested the feature
     * directly.
     */
    readonly neededBy?: string,
    advice = `Add .install(${feature}, { … }) to the agent before its first run.`,
  ) {
    const missing =
      neededBy === undefined ? `The feature "${feature}"` : `${neededBy} needs the feature "${feature}", which`;
    super(`${missing} is not installed. ${advice}`);
  }
}
