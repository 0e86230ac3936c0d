import type { FeatureKey } from "../context/AgentContext.ts";
import type { Pipeline } from "./Pipeline.ts";
import type { FullModelRetry } from "../model/ModelRetry.ts";
import type { PromptExecutor } from "../model/PromptExecutor.ts";
import type { RunSettings } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";

/** What all runs of one agent share. It does not change after the first run has begun. */
export interface AgentDefinition {
  readonly graph: StrategyGraph;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly pipeline: Pipeline;
  readonly promptExecutor: PromptExecutor;
  /** The settings that a fresh run begins with. */
  readonly settings: RunSettings;
  readonly systemPrompt?: string;
  readonly maxIterations: number;
  readonly modelLimits: ModelLimits;
  /** For tools that set no limit of their own, in milliseconds. */
  readonly toolTimeoutMs: number;
  readonly feature: <Instance>(feature: FeatureKey<Instance>) => Instance;
}

/** How a model request is made. */
export interface ModelLimits {
  readonly retry: FullModelRetry;
  /** For one try, in milliseconds. */
  readonly timeoutMs: number;
  readonly acceptCutAnswers: boolean;
  readonly maxToolCallsPerAnswer: number;
}
