import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A feature was installed twice into one agent. */
export class DuplicateFeatureError extends AgentPersistenceError {
  override readonly code = "duplicate_feature";
  /** The key of the feature. */
  readonly feature: string;

  constructor(feature: string) {
    super(`A feature with the key "${feature}" is already installed. Install it once, with all of its options.`);
    this.feature = feature;
  }
}
