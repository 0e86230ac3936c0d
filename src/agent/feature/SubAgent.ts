import type { AnyTool } from "../tool/Tool.ts";
import type { AgentDefinition } from "./AgentDefinition.ts";
import type { FeaturePipeline } from "./FeaturePipeline.ts";

/** An agent that other agents call as a tool. */
export interface SubAgent {
  readonly definition: AgentDefinition;
  /** The input of its run, from the input of the call. @throws InvalidInputError if the schema of its strategy refuses it */
  readonly inputOf: (input: unknown) => unknown;
}

const subAgents = new WeakMap<object, SubAgent>();

/** By the pipeline of an agent, what it is as a tool, by name. */
const asTools = new WeakMap<object, Map<string, AnyTool>>();

export function registerSubAgent(tool: AnyTool, agent: SubAgent): void {
  const { hooks } = agent.definition.pipeline;
  const named = asTools.get(hooks) ?? new Map<string, AnyTool>();
  asTools.set(hooks, named.set(tool.name, tool));
  subAgents.set(tool, agent);
}

/** What an agent is as a tool of this name: its code may call itself, though it cannot be among its own tools. */
export function asToolOf(pipeline: FeaturePipeline, name: string): AnyTool | undefined {
  return asTools.get(pipeline)?.get(name);
}

/** The agent that a tool calls; `undefined`: it is an ordinary tool. */
export function subAgentOf(tool: object): SubAgent | undefined {
  return subAgents.get(tool);
}
