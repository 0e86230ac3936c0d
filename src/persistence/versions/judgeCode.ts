import { type StructureRecord, structureKey } from "../../checkpoint/records/lineRecords.ts";
import type { Code, AgentStructure, CodeStructure } from "./CodeStructure.ts";
import type { Migration, Migrations } from "./Migrations.ts";
import { type LinePoint, Reached } from "./Reached.ts";
import type { EdgeStructure, GraphStructure, NodeStructure } from "../../agent/strategy/GraphStructure.ts";

export type CodeVerdict =
  | { readonly kind: "same" }
  /** `compatible`: all code that the run can still reach is unchanged. `incompatible`: a change needs a migration. */
  | { readonly kind: "compatible" | "incompatible"; readonly differences: readonly string[] }
  | { readonly kind: "migrates"; readonly chain: readonly Migration[] };

/** Returns whether the recorded code is unchanged. A three-method storage records no versions. */
export function isSameCode(stored: StructureRecord, now: Code, keepsVersions: boolean): boolean {
  if (stored.code !== undefined) return structureKey(stored) === now.code;
  return stored.fingerprint === now.fingerprint && (!keepsVersions || now.structure.version === 0);
}

/** Decides whether a run or branch can continue with changed code. `structure` is `undefined` if not stored. */
export function judgeCode(
  { version = 0 }: StructureRecord,
  structure: StoredStructure | undefined,
  now: Code,
  migrations: Migrations,
  point: LinePoint,
): CodeVerdict {
  const current = now.structure;
  const chain = migrations.chainFrom(version);
  if (chain && chain.length > 0) return { kind: "migrates", chain };
  if (!structure) {
    const nodes = current.nodes.map(({ name }) => name).join(", ");
    const unknown = `its nodes and edges, which this storage does not keep (now: ${nodes})`;
    return { kind: "incompatible", differences: [unknown] };
  }
  const differences = [
    ...codeDifferences(structure, current),
    ...(version === current.version ? [] : [`version ${version} is now ${current.version}`]),
  ];
  const fits = version <= current.version && keepsReached(structure, current, point);
  return { kind: fits ? "compatible" : "incompatible", differences };
}

/** A stored structure. Earlier versions of the library stored no schemas and tools. */
export type StoredStructure = GraphStructure | CodeStructure;

interface Schemas {
  readonly input?: string | undefined;
  readonly output?: string | undefined;
}

/** Returns a text for each difference between two structures. Ignores facts that earlier versions did not store. */
export function codeDifferences(stored: StoredStructure, current: StoredStructure): readonly string[] {
  const before = factsOf(stored);
  const after = factsOf(current, stored);
  return [
    ...[...before.keys()].filter((fact) => !after.has(fact) && !isOfOther(fact)).map((fact) => `${fact} is gone`),
    ...[...before]
      .filter(([fact, value]) => (after.get(fact) ?? value) !== value)
      .map(([fact]) => `${fact} has changed`),
    ...[...after.keys()].filter((fact) => !before.has(fact) && !isOfOther(fact)).map((fact) => `${fact} is new`),
  ];
}

/** Returns whether a fact belongs to another fact, with which it is reported. */
function isOfOther(fact: string): boolean {
  return /(^|: )the (input schema|output schema|effect) of /.test(fact);
}

/** Returns whether all stored parts that the run can still reach are unchanged. New parts are ignored. */
function keepsReached(stored: StoredStructure, current: StoredStructure, point: LinePoint): boolean {
  const now = factsOf(current, stored);
  return [...factsOf(stored, stored, new Reached(stored, point))].every(([fact, value]) => now.get(fact) === value);
}

/** Returns the facts of a structure: only of kinds that `like` contains, and of parts that can still be reached. */
function factsOf(structure: StoredStructure, like: StoredStructure = structure, reached?: Reached) {
  const facts = new Map<string, string>();
  const isWhole = "tools" in like && "tools" in structure;
  const graph = isWhole ? structure : withoutSchemas(structure);
  addGraph(facts, graph, { of: "", prefix: "", reached });
  if (isWhole) addTools(facts, structure, structure, { of: "", described: new Set([0]), reached });
  return facts;
}

function withoutSchemas({ nodes, edges }: GraphStructure): GraphStructure {
  return {
    nodes: nodes.map(({ input: _input, output: _output, graph, ...node }) => ({
      ...node,
      ...(graph && { graph: withoutSchemas(graph) }),
    })),
    edges,
  };
}

interface Within {
  readonly of: string;
  readonly prefix: string;
  readonly reached: Reached | undefined;
}

function addGraph(facts: Map<string, string>, graph: GraphStructure, within: Within): void {
  const { of, prefix, reached } = within;
  const { output, nodes, edges } = graph;
  const subject = prefix === "" ? "the strategy" : `subgraph "${prefix.slice(0, -1)}"`;
  const starts = !reached || reached.sources.has(`${prefix}start`);
  addSchemas(facts, starts ? graph : { output }, subject, of);
  for (const node of nodes) addNode(facts, node, within);
  for (const edge of edges)
    if (!reached || reached.sources.has(prefix + edge.from)) facts.set(of + edgeFact(edge, prefix), "");
}

function addSchemas(facts: Map<string, string>, { input, output }: Schemas, subject: string, of: string): void {
  if (input !== undefined) facts.set(`${of}the input schema of ${subject}`, input);
  if (output !== undefined) facts.set(`${of}the output schema of ${subject}`, output);
}

function edgeFact({ from, to, ordinal, conditional, mapped }: EdgeStructure, prefix: string): string {
  const condition = conditional ? " with a condition" : "";
  const mapping = mapped ? `${condition && " and"} with a mapping` : "";
  return `edge ${ordinal + 1} from "${prefix}${from}" to "${prefix}${to}"${condition}${mapping}`;
}

function addNode(facts: Map<string, string>, node: NodeStructure, { of, prefix, reached }: Within): void {
  const path = prefix + node.name;
  if (reached && !reached.nodes.has(path) && !reached.around.has(path)) return;
  facts.set(`${of}node "${path}"`, "");
  const { graph, parallel } = node;
  addSchemas(facts, node, `node "${path}"`, of);
  if (graph) addGraph(facts, graph, { of, prefix: `${path}/`, reached });
  if (parallel) for (const fact of parallelFacts(path, prefix, parallel)) facts.set(of + fact, "");
}

function parallelFacts(
  path: string,
  prefix: string,
  { branches, history, onFailure }: NonNullable<NodeStructure["parallel"]>,
): readonly string[] {
  const facts =
    branches.kind === "each"
      ? [`a branch of "${path}" for each item: node "${prefix}${branches.node}"${branches.keyed ? " with a key" : ""}`]
      : branches.nodes.map(({ branch, node }) => `branch "${branch}" of "${path}": node "${prefix}${node}"`);
  return [...facts, `history "${history}" of "${path}"`, `onFailure "${onFailure}" of "${path}"`];
}

interface Caller {
  readonly of: string;
  readonly described: Set<number>;
  readonly reached: Reached | undefined;
}

/** Adds the tools, which any node can call. A new call of a sub-agent uses the current code. */
function addTools(
  facts: Map<string, string>,
  { tools }: AgentStructure,
  structure: CodeStructure,
  { of, described, reached }: Caller,
): void {
  for (const { name, input, effect = "", agent } of tools) {
    facts.set(`${of}tool "${name}"`, "");
    facts.set(`${of}the input schema of tool "${name}"`, input);
    // A changed effect is shown as a difference, but the run can continue.
    if (!reached) facts.set(`${of}the effect of tool "${name}"`, effect);
    if (agent === undefined) continue;
    facts.set(`${of}the agent that tool "${name}" calls`, "");
    const called = structure.agents?.[agent - 1];
    if (reached || described.has(agent) || !called) continue;
    described.add(agent);
    const inside = `${of}in the agent that tool "${name}" calls: `;
    addGraph(facts, called, { of: inside, prefix: "", reached });
    addTools(facts, called, structure, { of: inside, described, reached });
  }
}
