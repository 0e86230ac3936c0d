/** The part of an `AgentFeature` by which a context finds its instance. */
export interface FeatureKey<out Instance> {
  /** Unique among the features of an agent. */
  readonly key: string;
  install(pipeline: never, config: never): Instance;
}
