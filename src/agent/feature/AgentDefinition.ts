import type { FeatureKey } from "../context/AgentContext.ts";
import type { Pipeline } from "./Pipeline.ts";
import type { FullModelRetry } from "../model/ModelRetry.ts";
import type { PromptExecutor } from "../model/PromptExecutor.ts";
import type { RunSettings } from "../state/RunState.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";
import type { AnyTool } from "../tool/Tool.ts";
import type { FeaturePipeline } from "./FeaturePipeline.ts";

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

export interface SubAgent {
  readonly definition: AgentDefinition;
  /** Returns the input of the sub-agent's run. @throws InvalidInputError if the strategy's schema rejects it. */
  readonly inputOf: (input: unknown) => unknown;
}

const subAgents = new WeakMap<object, SubAgent>();

/** Maps the pipeline of an agent and a tool name to the tool that represents the agent. */
const asTools = new WeakMap<object, Map<string, AnyTool>>();

export function registerSubAgent(tool: AnyTool, agent: SubAgent): void {
  const { hooks } = agent.definition.pipeline;
  const named = asTools.get(hooks) ?? new Map<string, AnyTool>();
  asTools.set(hooks, named.set(tool.name, tool));
  subAgents.set(tool, agent);
}

/** Returns the tool that represents an agent. Node code can call it without an entry in the agent's tools. */
export function asToolOf(pipeline: FeaturePipeline, name: string): AnyTool | undefined {
  return asTools.get(pipeline)?.get(name);
}

export function subAgentOf(tool: object): SubAgent | undefined {
  return subAgents.get(tool);
}
