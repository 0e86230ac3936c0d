import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** Something needs a feature that the agent does not have. */
export class FeatureNotInstalledError extends AgentPersistenceError {
  override readonly code = "feature_not_installed";
  /** The key of the feature. */
  readonly feature: string;
  /** What needs it, such as `resume()`; absent: it was asked for itself. */
  readonly neededBy: string | undefined;

  constructor(feature: string, neededBy?: string) {
    super(
      `${neededBy === undefined ? "The" : `${neededBy} needs the`} feature "${feature}"${neededBy === undefined ? " is" : ", which is"} not installed. Add .install(${feature}, { … }) to the agent before its first run.`,
    );
    this.feature = feature;
    this.neededBy = neededBy;
  }
}
