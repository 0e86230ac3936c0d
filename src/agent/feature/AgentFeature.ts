import type { FeaturePipeline } from "./FeaturePipeline.ts";

/** Something that can be installed into an agent. An instance with `Symbol.asyncDispose` is disposed with the agent. */
export interface AgentFeature<in Config, out Instance> {
  /** Unique among the features of an agent. */
  readonly key: string;
  /** Registers hooks; what it returns is what `agent.feature` and `context.feature` give. */
  install(pipeline: FeaturePipeline, config: Config): Instance;
}
