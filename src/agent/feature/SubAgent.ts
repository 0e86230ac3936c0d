import type { AgentDefinition } from "./AgentDefinition.ts";

/** An agent that other agents call as a tool. */
export interface SubAgent {
  readonly definition: AgentDefinition;
  /** The input of its run, from the input of the call. @throws InvalidInputError if the schema of its strategy refuses it */
  readonly inputOf: (input: unknown) => unknown;
}

const subAgents = new WeakMap<object, SubAgent>();

export function registerSubAgent(tool: object, agent: SubAgent): void {
  subAgents.set(tool, agent);
}

/** The agent that a tool calls; `undefined`: it is an ordinary tool. */
export function subAgentOf(tool: object): SubAgent | undefined {
  return subAgents.get(tool);
}
