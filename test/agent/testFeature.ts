import type { AgentFeature, FeaturePipeline } from "../../src/agent/feature/FeaturePipeline.ts";

/** A feature that is nothing but the hooks it registers. */
export function testFeature(hooks: (pipeline: FeaturePipeline) => void, key = "test"): AgentFeature<object, void> {
  return { key, install: (pipeline) => hooks(pipeline) };
}
