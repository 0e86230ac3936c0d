import { z } from "zod";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { functionSchema } from "../../internal/options/optionSchemas.ts";
import type { AgentDefinition } from "../feature/AgentDefinition.ts";
import type { FeaturePipeline } from "../feature/FeaturePipeline.ts";
import { type AnyTool, tool, type Tool } from "../tool/Tool.ts";

/** An agent that another agent calls as a tool. */
export interface SubAgent {
  readonly definition: AgentDefinition;
  /** Returns the input of the sub-agent's run. @throws InvalidInputError if the strategy's schema rejects it. */
  readonly inputOf: (input: unknown) => unknown;
}

const subAgents = new WeakMap<object, SubAgent>();

/** Maps the pipeline of an agent and a tool name to the tool that represents the agent. */
const asTools = new WeakMap<object, Map<string, AnyTool>>();

const asToolSchema = strictOptions(() => ({
  name: z.unknown(),
  description: z.unknown(),
  inputSchema: z.unknown(),
  input: functionSchema(),
  needsApproval: z.unknown().optional(),
}));

interface AsToolOptions<Schema extends z.core.$ZodType> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly input: (input: z.output<Schema>) => unknown;
  readonly needsApproval?: Tool<never, unknown, z.output<Schema>>["needsApproval"];
}

/** Creates the tool that represents an agent. `executeRun` runs its calls. @throws InvalidInputError */
export function agentAsTool<Schema extends z.core.$ZodType, Output>(
  definition: AgentDefinition,
  options: AsToolOptions<Schema>,
): Tool<z.input<Schema>, Output, z.output<Schema>> {
  checkSchema(asToolSchema, options, "options of asTool()");
  const { input, ...own } = options;
  const { graph } = definition;
  const called = tool<Schema, Output>({
    ...own,
    // The agent records its own calls. So the call that runs the agent is repeatable: it resumes the agent.
    effect: "none",
    execute: () => {
      throw new TypeError(`Tool "${options.name}" is an agent: call it through context.tools, or let a model call it.`);
    },
  });
  registerSubAgent(called, {
    definition,
    inputOf: (given) =>
      frozenCopy(checkSchema(graph.root.input, input(given as z.output<Schema>), `input of strategy "${graph.name}"`)),
  });
  return called;
}

export function registerSubAgent(asTool: AnyTool, agent: SubAgent): void {
  const { hooks } = agent.definition.pipeline;
  const named = asTools.get(hooks) ?? new Map<string, AnyTool>();
  asTools.set(hooks, named.set(asTool.name, asTool));
  subAgents.set(asTool, agent);
}

/** Returns the tool that represents an agent. Node code can call it without an entry in the agent's tools. */
export function asToolOf(pipeline: FeaturePipeline, name: string): AnyTool | undefined {
  return asTools.get(pipeline)?.get(name);
}

export function subAgentOf(called: object): SubAgent | undefined {
  return subAgents.get(called);
}
