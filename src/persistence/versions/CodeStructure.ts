import type { AgentDefinition } from "../../agent/feature/AgentDefinition.ts";
import { subAgentOf } from "../../agent/feature/SubAgent.ts";
import { type GraphStructure, structureOf } from "../../agent/strategy/GraphStructure.ts";
import type { AnyTool, ToolEffect } from "../../agent/tool/Tool.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { schemaDigest } from "./schemaDigest.ts";

/** What the stored runs of an agent rely on in its code, as plain JSON, with the agents that it calls. */
export interface CodeStructure extends AgentStructure {
  /** The agents that are called, each once; tools name them by their number from 1. Absent: none. */
  readonly agents?: readonly AgentStructure[];
}

/** The code of one agent. */
export interface AgentStructure extends GraphStructure {
  /** The version of its strategy. */
  readonly version: number;
  /** Sorted by name. */
  readonly tools: readonly ToolStructure[];
}

/** A tool of an agent. */
export interface ToolStructure {
  readonly name: string;
  /** A digest of its input schema. */
  readonly input: string;
  /** As it is declared. Absent: it is not. */
  readonly effect?: ToolEffect;
  /** The number of the agent that it calls; 0 is the one that the structure is of. Absent: it is an ordinary tool. */
  readonly agent?: number;
}

/** A {@link CodeStructure} with its digests. */
export interface Code {
  readonly structure: CodeStructure;
  /** The digest of the nodes and the edges of the strategy: what earlier versions recorded. */
  readonly fingerprint: string;
  /** The digest of the whole structure. */
  readonly code: string;
}

type Defined = Pick<AgentDefinition, "graph" | "tools">;

const known = new WeakMap<object, Code>();

/** The code of an agent. @param pipeline of the agent: its code is described once, and does not change after that. */
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
  // It grows while it is gone over: an agent may call itself, and two may call the same one.
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
