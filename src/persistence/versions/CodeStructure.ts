import { subAgentOf } from "../../agent/agentAsTool/agentAsTool.ts";
import type { AgentDefinition } from "../../agent/feature/AgentDefinition.ts";
import { type GraphStructure, structureOf } from "../../agent/strategy/GraphStructure.ts";
import type { AnyTool, ToolEffect } from "../../agent/tool/Tool.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { z } from "zod";

/** The parts of an agent's code on which stored runs depend, as plain JSON, including its sub-agents. */
export interface CodeStructure extends AgentStructure {
  /** The sub-agents without duplicates. Tools refer to them by number, from 1. */
  readonly agents?: readonly AgentStructure[];
}

export interface AgentStructure extends GraphStructure {
  readonly version: number;
  readonly tools: readonly ToolStructure[];
}

interface ToolStructure {
  readonly name: string;
  readonly input: string;
  readonly effect?: ToolEffect;
  /** The number of the sub-agent that the tool calls, or 0 for the agent itself. Omitted for other tools. */
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

/** Returns the code structure of an agent definition, which is computed only once. */
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

/** The parts of a zod schema that all versions of zod have. Functions are not compared. */
const parts =
  "type catchall element items rest options left right keyType valueType innerType in out entries values coerce format check checks value inclusive minimum maximum length size prefix suffix includes shape pattern getter".split(
    " ",
  );

type Definition = Readonly<Record<string, unknown>>;

/** The state of writing a schema as text. */
interface Walk {
  /** Maps each schema that others can refer to, to the number of schemas before it. */
  readonly schemas: Map<object, number>;
  /** The remaining number of parts. If `Infinity`, a schema can refer to all earlier ones, even outside of it. */
  left: number;
}

/** The first schema that each getter returned, because a getter may create an equal schema on every call. */
const returned = new WeakMap<() => object, object>();

const known = new WeakMap<object, string>();

/** Returns a digest of a schema without descriptions and functions. Empty without a schema. */
export function schemaDigest(schema: z.core.$ZodType | undefined, sha256: Sha256): string {
  if (schema === undefined) return "";
  const before = known.get(schema);
  if (before !== undefined) return before;
  // Stored digests contain a shared schema at each of its uses. Writing a large schema in this way takes too long.
  const text = written(schema, 10_000) ?? written(schema, Infinity)!;
  // Enough characters to avoid collisions by chance.
  const digest = sha256.base64url(text).slice(0, 11);
  known.set(schema, digest);
  return digest;
}

function written(schema: object, left: number): string | undefined {
  const walk = { schemas: new Map<object, number>(), left };
  const shape = shapeOf(schema, walk);
  return walk.left < 0 ? undefined : JSON.stringify(shape);
}

function shapeOf(value: unknown, walk: Walk): unknown {
  if (typeof value !== "object" || value === null) return plain(value);
  const definition = definitionOf(value);
  if (definition) return shapeOfSchema(value, definition, walk);
  if (Array.isArray(value)) return value.map((part) => shapeOf(part, walk));
  if (value instanceof RegExp) return String(value);
  return Object.keys(value)
    .sort()
    .map((key) => [key, shapeOf((value as Definition)[key], walk)]);
}

function shapeOfSchema(schema: object, definition: Definition, walk: Walk): unknown {
  const { schemas, left } = walk;
  const at = schemas.get(schema);
  if (at !== undefined) return { again: schemas.size - at };
  if (walk.left-- <= 0) return undefined;
  schemas.set(schema, schemas.size);
  const shape = definedBy(definition, walk);
  if (left < Infinity) schemas.delete(schema);
  return shape;
}

function definedBy(definition: Definition, walk: Walk): unknown {
  return parts.flatMap((part) => {
    const value = definition[part];
    // Ignores the patterns of formats such as e-mail addresses, because a new version of zod can change them.
    if (value === undefined || (part === "pattern" && definition["format"] !== "regex")) return [];
    return [part === "getter" ? ["of", shapeOf(schemaOf(value as () => object), walk)] : [part, shapeOf(value, walk)]];
  });
}

function schemaOf(getter: () => object): object {
  const schema = returned.get(getter) ?? getter();
  returned.set(getter, schema);
  return schema;
}

function definitionOf(value: object): Definition | undefined {
  return (value as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
}

function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return "";
  return typeof value === "bigint" || value === undefined ? String(value) : value;
}
