import type { AIAgent } from "../../agent/AIAgent.ts";
import { registerSubAgent, subAgentOf } from "../../agent/agentAsTool/agentAsTool.ts";
import type { AgentDefinition } from "../../agent/feature/AgentDefinition.ts";
import type { FeaturePipeline } from "../../agent/feature/FeaturePipeline.ts";
import { Pipeline } from "../../agent/feature/Pipeline.ts";
import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { Persistence } from "../../persistence/Persistence.ts";
import type { RunPersistence } from "../../persistence/RunPersistence.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { systemClock } from "../../internal/Clock.ts";
import { z } from "zod";

/** The parts of a replay that replace Persistence and the model. */
export interface ReplayedParts {
  readonly install: (pipeline: FeaturePipeline, definition: AgentDefinition) => void;
  readonly persistence: (context: AgentContext) => RunPersistence;
  readonly change: (definition: AgentDefinition) => Partial<AgentDefinition>;
}

/** The definitions of an agent and its sub-agents for one replay, without the features of these agents. */
export class ReplayDefinitions {
  readonly #parts: ReplayedParts;
  readonly #known = new Map<AgentDefinition, AgentDefinition>();
  readonly #tools = new Map<AnyTool, AnyTool>();

  constructor(parts: ReplayedParts) {
    this.#parts = parts;
  }

  of(definition: AgentDefinition): AgentDefinition {
    const known = this.#known.get(definition);
    if (known) return known;
    const { agentId, hasDefaultId, identity, graph, tools, toolTimeoutMs } = definition.pipeline.hooks;
    const pipeline = new Pipeline({ agentId, hasDefaultId, identity, graph, tools, toolTimeoutMs });
    const { hooks } = pipeline;
    hooks.claim("resume", "runId", "history", "unfinished", "whenBusy", "requestInput");
    hooks.limitAborts({ ms: 0, clock: systemClock });
    this.#parts.install(hooks, definition);
    const feature: AgentDefinition["feature"] = (asked) =>
      (asked as unknown) === Persistence
        ? ({ of: (context: AgentContext) => this.#parts.persistence(context) } as never)
        : definition.feature(asked);
    const replayed = { ...definition, pipeline, feature, ...this.#parts.change(definition) };
    this.#known.set(definition, replayed);
    return replayed;
  }

  /** Returns the tool of a sub-agent that runs with its replayed definition. `undefined` for another tool. */
  subAgent(tool: AnyTool): AnyTool | undefined {
    const agent = subAgentOf(tool);
    if (!agent) return undefined;
    const known = this.#tools.get(tool) ?? { ...tool };
    if (!this.#tools.has(tool)) registerSubAgent(known, { ...agent, definition: this.of(agent.definition) });
    this.#tools.set(tool, known);
    return known;
  }
}

const definitions = new WeakMap<object, AgentDefinition>();

/** @throws InvalidInputError for an agent of another copy of the package, which has other classes */
export function definitionOf(agent: AIAgent<never, unknown>): AgentDefinition {
  const known = definitions.get(agent);
  if (known) return known;
  // The definition of an agent is reachable only through its tool.
  const tool = agent.asTool({
    name: "replay",
    description: "",
    inputSchema: z.unknown(),
    input: () => undefined as never,
  });
  const found = subAgentOf(tool);
  if (!found)
    throw new InvalidInputError("agent of a replay", [
      { path: "", expected: "expected an agent of this copy of agent-persistence; import the replay from its copy" },
    ]);
  definitions.set(agent, found.definition);
  return found.definition;
}
