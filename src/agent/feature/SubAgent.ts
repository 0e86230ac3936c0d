import type { AnyTool } from "../tool/Tool.ts";
import type { AgentDefinition } from "./AgentDefinition.ts";
import type { FeaturePipeline } from "./FeaturePipeline.ts";

export interface SubAgent {
  readonly definition: AgentDefinition;
  /**
   * Returns the input of the run from the input of the call. @throws InvalidInputError if the strategy's schema rejects
   * it
   */
  readonly inputOf: (input: unknown) => unknown;
}

const subAgents = new WeakMap<object, SubAgent>();

/** By pipeline and tool name. */
const asTools = new WeakMap<object, Map<string, AnyTool>>();

export function registerSubAgent(tool: AnyTool, agent: SubAgent): void {
  const { hooks } = agent.definition.pipeline;
  const named = asTools.get(hooks) ?? new Map<string, AnyTool>();
  asTools.set(hooks, named.set(tool.name, tool));
  subAgents.set(tool, agent);
}

/** Returns the tool that represents an agent. Node code of the agent can call it, though it is not among its tools. */
export function asToolOf(pipeline: FeaturePipeline, name: string): AnyTool | undefined {
  return asTools.get(pipeline)?.get(name);
}

export function subAgentOf(tool: object): SubAgent | undefined {
  return subAgents.get(tool);
}
