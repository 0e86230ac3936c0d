import { type AgentDefinition, subAgentOf } from "../../agent/feature/AgentDefinition.ts";
import { type GraphStructure, structureOf } from "../../agent/strategy/GraphStructure.ts";
import type { AnyTool, ToolEffect } from "../../agent/tool/Tool.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { schemaDigest } from "./schemaDigest.ts";

/** The parts of an agent's code on which stored runs rely, as plain JSON. Includes the sub-agents. */
export interface CodeStructure extends AgentStructure {
  /** The sub-agents, without duplicates. Tools refer to them by number, from 1. */
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
  /** The number of the agent that the tool runs, where 0 is the agent itself. Omitted for an ordinary tool. */
  readonly agent?: number;
}

export interface Code {
  readonly structure: CodeStructure;
  /** The digest of the nodes and edges of the strategy, as recorded by earlier versions. */
  readonly fingerprint: string;
  readonly code: string;
}

type Defined = Pick<AgentDefinition, "graph" | "tools">;

const structures = new WeakMap<object, Code>();

/**
 * Returns the code structure of an agent.
 *
 * @param pipeline The agent definition. Its structure is computed once and does not change.
 */
export function codeOf(pipeline: object & Defined, sha256: Sha256): Code {
  const code = structures.get(pipeline) ?? describe(pipeline, sha256);
  structures.set(pipeline, code);
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
  // The list grows during the loop, because agents can call themselves or share a sub-agent.
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
      const input = schemaDigest(inputSchema, sha256);
      return withoutUndefined({ name, input, effect, agent: numberOf(tool) });
    }),
  };
}
