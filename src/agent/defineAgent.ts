import { DuplicateNameError } from "../errors/agent/DuplicateNameError.ts";
import { assertAgentId } from "../internal/options/assertAgentId.ts";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { frozenCopy } from "../internal/frozenCopy.ts";
import type { AgentDefinition } from "./feature/AgentDefinition.ts";
import { agentConfigSchema, type AIAgentConfig } from "./AIAgentConfig.ts";
import { defaultStrategy } from "./defaultStrategy.ts";
import { Pipeline } from "./feature/Pipeline.ts";
import { StrategyGraph } from "./strategy/StrategyGraph.ts";
import type { AnyTool } from "./tool/Tool.ts";

/** The same in every process: a run that names no agent is found again by the next one that names none. */
const defaultAgentId = "agent";
const defaultMaxIterations = 50;

/** Checks a configuration and compiles what its runs share. */
export function defineAgent<Input, Output>(
  config: AIAgentConfig<Input, Output>,
  feature: AgentDefinition["feature"],
): AgentDefinition {
  checkSchema(agentConfigSchema, config, "configuration of the agent");
  const graph = new StrategyGraph(config.strategy ?? defaultStrategy);
  const tools = toolsByName(config.tools ?? []);
  const { id: agentId = defaultAgentId, maxIterations = defaultMaxIterations } = config;
  assertAgentId(agentId);
  return {
    graph,
    tools,
    pipeline: new Pipeline({ agentId, graph, tools }),
    promptExecutor: config.promptExecutor,
    settings: frozenCopy({
      model: config.llmModel,
      ...(config.modelParameters && { parameters: config.modelParameters }),
      tools: [...tools.keys()],
    }),
    ...(config.systemPrompt !== undefined && { systemPrompt: config.systemPrompt }),
    maxIterations,
    feature,
  };
}

function toolsByName(tools: readonly AnyTool[]): ReadonlyMap<string, AnyTool> {
  const byName = new Map<string, AnyTool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new DuplicateNameError("duplicate_tool", tool.name);
    byName.set(tool.name, tool);
  }
  return byName;
}
