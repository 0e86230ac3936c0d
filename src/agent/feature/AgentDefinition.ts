import type { FeatureKey } from "../context/AgentContext.ts";
import type { Pipeline } from "./Pipeline.ts";
import type { FullModelRetry } from "../model/ModelRetry.ts";
import type { PromptExecutor } from "../model/PromptExecutor.ts";
import type { RunSettings } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** The definition that all runs of one agent share. It does not change after the first run has started. */
export interface AgentDefinition {
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly pipeline: Pipeline;
  readonly promptExecutor: PromptExecutor;
  readonly settings: RunSettings;
  readonly systemPrompt?: string;
  readonly maxIterations: number;
  readonly modelLimits: ModelLimits;
  /** The time limit in milliseconds of calls to tools without `timeoutMs`. */
  readonly toolTimeoutMs: number;
  readonly feature: <Instance>(feature: FeatureKey<Instance>) => Instance;
}

export interface ModelLimits {
  readonly retry: FullModelRetry;
  /** The time limit of one attempt in milliseconds. */
  readonly timeoutMs: number;
  readonly acceptCutAnswers: boolean;
  readonly maxToolCallsPerAnswer: number;
}
