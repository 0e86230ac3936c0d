import { type AgentDefinition, subAgentOf } from "../../agent/feature/AgentDefinition.ts";
import { type GraphStructure, structureOf } from "../../agent/strategy/GraphStructure.ts";
import type { AnyTool, ToolEffect } from "../../agent/tool/Tool.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { z } from "zod";

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
      return withoutUndefined({ name, input: schemaDigest(inputSchema, sha256), effect, agent: numberOf(tool) });
    }),
  };
}

/** Long enough to avoid accidental collisions, and short in the log. */
const digestLength = 11;

/** The parts of a zod schema that are stable between versions of zod. Functions are not compared. */
const parts = [
  "type",
  "catchall",
  "element",
  "items",
  "rest",
  "options",
  "left",
  "right",
  "keyType",
  "valueType",
  "innerType",
  "in",
  "out",
  "entries",
  "values",
  "coerce",
  "format",
  "check",
  "checks",
  "value",
  "inclusive",
  "minimum",
  "maximum",
  "length",
  "size",
  "prefix",
  "suffix",
  "includes",
] as const;

type Definition = Readonly<Record<string, unknown>>;

const known = new WeakMap<object, string>();

/**
 * Returns a digest of the values that a schema accepts, which is the same in each process. Returns an empty text
 * without a schema. Ignores descriptions and functions, such as the arguments of `refine` and `transform`. Each schema
 * object is visited once.
 */
function schemaDigest(schema: z.core.$ZodType | undefined, sha256: Sha256): string {
  if (schema === undefined) return "";
  const before = known.get(schema);
  if (before !== undefined) return before;
  const text = JSON.stringify(shapeOf(schema, []));
  const digest = sha256.base64url(text).slice(0, digestLength);
  known.set(schema, digest);
  return digest;
}

/** @param around The schemas that contain this schema. A recursive schema ends the recursion when it is among them. */
function shapeOf(value: unknown, around: readonly unknown[]): unknown {
  if (typeof value !== "object" || value === null) return plain(value);
  const definition = definitionOf(value);
  if (definition) {
    const at = around.indexOf(value);
    return at === -1 ? definedBy(definition, [...around, value]) : { again: around.length - at };
  }
  if (Array.isArray(value)) return value.map((part) => shapeOf(part, around));
  if (value instanceof RegExp) return String(value);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, part]) => [key, shapeOf(part, around)]);
}

function definedBy(definition: Definition, around: readonly unknown[]): unknown {
  const { type, format, pattern, getter, shape } = definition;
  const own = parts.flatMap((part) => {
    const value = definition[part];
    return value === undefined ? [] : [[part, shapeOf(value, around)]];
  });
  return [
    ...own,
    ...(type === "object" ? [["shape", shapeOf(shape, around)]] : []),
    // Patterns of other formats are ignored, because zod versions can change them, such as the pattern for e-mail
    // addresses.
    ...(format === "regex" ? [["pattern", String(pattern)]] : []),
    ...(typeof getter === "function" ? [["of", shapeOf((getter as () => unknown)(), around)]] : []),
  ];
}

function definitionOf(value: object): Definition | undefined {
  return (value as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
}

function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return "";
  return typeof value === "bigint" || value === undefined ? String(value) : value;
}
