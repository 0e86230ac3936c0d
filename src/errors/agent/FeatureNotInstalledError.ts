import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** An operation needs a feature that the agent does not have. */
export class FeatureNotInstalledError extends AgentPersistenceError {
  override readonly code = "feature_not_installed";

  constructor(
    readonly feature: string,
    /** The operation or agent that needs it, such as `resume()`; absent when you asked for the feature itself. */
    readonly neededBy?: string,
    /** How to install it. */
    advice = `Add .install(${feature}, { … }) to the agent before its first run.`,
  ) {
    const missing =
      neededBy === undefined ? `The feature "${feature}"` : `${neededBy} needs the feature "${feature}", which`;
    super(`${missing} is not installed. ${advice}`);
  }
}
