import type { AgentDefinition } from "../../agent/feature/AgentDefinition.ts";
import { subAgentOf } from "../../agent/feature/SubAgent.ts";
import { type GraphStructure, structureOf } from "../../agent/strategy/GraphStructure.ts";
import type { AnyTool, ToolEffect } from "../../agent/tool/Tool.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { schemaDigest } from "./schemaDigest.ts";

/** The parts of an agent's code that its stored runs rely on, as plain JSON, with its sub-agents. */
export interface CodeStructure extends AgentStructure {
  /** The sub-agents, each once. Tools refer to them by number, from 1. Omitted if the agent has no sub-agents. */
  readonly agents?: readonly AgentStructure[];
}

export interface AgentStructure extends GraphStructure {
  readonly version: number;
  readonly tools: readonly ToolStructure[];
}

export interface ToolStructure {
  readonly name: string;
  readonly input: string;
  readonly effect?: ToolEffect;
  /**
   * The number of the agent that the tool runs. 0 is the agent of the structure itself. Omitted for an ordinary tool.
   */
  readonly agent?: number;
}

export interface Code {
  readonly structure: CodeStructure;
  /** The digest of the nodes and edges of the strategy, as recorded by earlier versions. */
  readonly fingerprint: string;
  readonly code: string;
}

type Defined = Pick<AgentDefinition, "graph" | "tools">;

const known = new WeakMap<object, Code>();

/**
 * Returns the code of an agent. @param pipeline of the agent, whose code is described once and does not change
 * afterwards.
 */
export function codeOf(pipeline: object & Defined, sha256: Sha256): Code {
  const code = known.get(pipeline) ?? describe(pipeline, sha256);
  known.set(pipeline, code);
  return code;
}

function describe(pipeline: object & Defined, sha256: Sha256): Code {
  const numbers = new Map<object, number>([[pipeline, 0]]);
  const agents: AgentStructure[] = [];
  const pending: Defined[] = [pipeline];
  const numberOf = (tool: AnyTool): number | undefined => {
    const agent = subAgentOf(tool);
    if (!agent) return undefined;
    const { hooks } = agent.definition.pipeline;
    const number = numbers.get(hooks) ?? pending.push(agent.definition) - 1;
    numbers.set(hooks, number);
    return number;
  };
  // The list grows during the loop, because agents may call themselves or share a sub-agent.
  for (const agent of pending) agents.push(agentStructure(agent, sha256, numberOf));
  const [own, ...called] = agents as [AgentStructure, ...AgentStructure[]];
  const structure = called.length > 0 ? { ...own, agents: called } : own;
  return {
    structure,
    fingerprint: sha256.base64url(JSON.stringify(pipeline.graph.structure)),
    code: sha256.base64url(JSON.stringify(structure)),
  };
}

function agentStructure(
  { graph, tools }: Defined,
  sha256: Sha256,
  numberOf: (tool: AnyTool) => number | undefined,
): AgentStructure {
  const sorted = [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    ...structureOf(graph.root, (schema) => schemaDigest(schema, sha256)),
    version: graph.version,
    tools: sorted.map((tool) => {
      const { name, inputSchema, effect } = tool;
      return withoutUndefined({ name, input: schemaDigest(inputSchema, sha256), effect, agent: numberOf(tool) });
    }),
  };
}
