/** How a context names a feature that the agent has: every `AgentFeature` is one. */
export interface FeatureKey<out Instance> {
  /** Unique among the features of an agent. */
  readonly key: string;
  install(pipeline: never, config: never): Instance;
}
