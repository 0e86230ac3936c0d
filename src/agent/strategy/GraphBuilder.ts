import { z } from "zod";
import { DuplicateNameError, InvalidStrategyError } from "../../errors/strategyErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { quotedList } from "../../errors/AgentPersistenceError.ts";
import { warnOnce } from "../../internal/warn.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { functionSchema, integerFrom, kindOf, plainObject, zodSchema } from "../../internal/options/optionSchemas.ts";
import {
  type BranchFailure,
  type BranchHistory,
  type EachBranchesPlan,
  type EdgePlan,
  type GraphPlan,
  isStrategy,
  type LeafPlan,
  type NodePlan,
  type ParallelPlan,
  planOf,
  branchNodes,
  branchProblem,
} from "./GraphPlan.ts";

type Body = LeafPlan["run"];
type Schemas = Pick<GraphPlan, "input" | "output">;
type Merge = ParallelPlan["merge"];
type ParallelOptions = { readonly history?: BranchHistory; readonly onFailure?: BranchFailure };
type EachOptions = ParallelOptions & Partial<Pick<EachBranchesPlan, "key" | "concurrency">>;
type Rest<Options> = readonly [merge: Merge] | readonly [options: Options, merge: Merge];

// Accepts any value, because the graph validates the values and names the node or the edge in its errors.
const schemasSchema = strictOptions(() => ({ input: z.unknown().optional(), output: z.unknown().optional() }));
const edgeSchema = strictOptions(() => ({ when: z.unknown().optional(), map: z.unknown().optional() }));
const parallelShape = {
  history: z.enum(["fork", "fresh"]).optional(),
  onFailure: z.enum(["finish", "stop"]).optional(),
};
const parallelSchema = strictOptions(() => parallelShape);
const eachSchema = strictOptions(() => ({
  ...parallelShape,
  key: functionSchema().optional(),
  concurrency: integerFrom(1).optional(),
}));

/** Implements `Graph` without its types. */
export class GraphBuilder {
  readonly start: object = Object.freeze({ name: "start" });
  readonly finish: object = Object.freeze({ name: "finish" });
  readonly #graph: string;
  readonly #nodes = new Map<string, NodePlan>();
  readonly #edges = new Map<string, EdgePlan[]>();
  readonly #branchOf = new Map<string, string>();
  readonly #names = new Map<object, string>([
    [this.start, "start"],
    [this.finish, "finish"],
  ]);
  #built = false;

  constructor(graph: string) {
    this.#graph = graph;
  }

  node(name: string, ...rest: readonly [run: Body] | readonly [schemas: Schemas, run: Body]): object {
    const [schemas, run] = rest.length === 1 ? [{}, rest[0]] : rest;
    if (typeof run !== "function") this.#refuse(`node "${name}" has no function to run.`);
    this.#checkSchemas(schemas, `node "${name}"`);
    return this.#add(name, (handle) => ({ kind: "leaf", handle, run, ...schemasOf(schemas) }));
  }

  subgraph(name: string, content: object | ((graph: unknown) => void)): object {
    if (typeof content !== "function" && !isStrategy(content))
      this.#refuse(`subgraph "${name}" is neither a strategy nor a function that builds one.`);
    return this.#add(name, (handle) => ({
      kind: "subgraph",
      handle,
      graph:
        typeof content === "function"
          ? GraphBuilder.plan(`${this.#graph}/${name}`, {}, content as (graph: unknown) => void)
          : planOf(content),
    }));
  }

  parallel(name: string, branches: Readonly<Record<string, object>>, ...rest: Rest<ParallelOptions>): object {
    const [options, merge] = this.#joining(name, parallelSchema, rest);
    return this.#add(name, (handle) => {
      const nodes = this.#namedBranches(name, branches);
      return { kind: "parallel", handle, branches: { kind: "named", nodes }, ...joinedAs(options), merge };
    });
  }

  each(name: string, node: object, ...rest: Rest<EachOptions>): object {
    const [options, merge] = this.#joining(name, eachSchema, rest);
    const { key, concurrency = Infinity } = options;
    return this.#add(name, (handle) => {
      const branch = this.#branch(node, name, `"${name}"`);
      const branches = withoutUndefined({ kind: "each" as const, node: branch, key, concurrency });
      return { kind: "parallel", handle, branches, ...joinedAs(options), merge };
    });
  }

  edge(from: object, to: object, options: Omit<EdgePlan, "to"> = {}): void {
    if (this.#built) this.#refuse("an edge was added after the graph was built.");
    const [source, target] = [this.#nameOf(from, edgeUse), this.#nameOf(to, edgeUse)];
    checkSchema(edgeSchema, options, `options of the edge from "${source}" to "${target}"`);
    if (source === "finish") this.#refuse('an edge leaves "finish". No edge can leave the end of the graph.');
    if (target === "start") this.#refuse('an edge leads to "start". No edge can lead to the beginning of the graph.');
    for (const [key, given] of Object.entries({ when: options.when, map: options.map }))
      if (given !== undefined && typeof given !== "function")
        this.#refuse(`"${key}" of the edge from "${source}" to "${target}" is no function.`);
    const edges = this.#edges.get(source) ?? [];
    const always = edges.find(({ when }) => when === undefined);
    if (always)
      this.#refuse(
        `the edge from "${source}" to "${target}" is never taken, because the edge to "${always.to}" before it has no condition. Add the edge to "${always.to}" last, or give it a condition \`when\`.`,
      );
    const edge = withoutUndefined({ to: target, when: options.when, map: options.map });
    this.#edges.set(source, [...edges, edge]);
  }

  /** Runs a build function on a new graph. @throws InvalidStrategyError if the graph cannot run. */
  static plan(name: string, schemas: Schemas, build: (graph: unknown) => void): GraphPlan {
    const graph = new GraphBuilder(name);
    if (typeof build !== "function") graph.#refuse("it has no function that builds it.");
    graph.#checkSchemas(schemas, "the strategy");
    const returned: unknown = build(graph);
    if (returned instanceof Promise) {
      void returned.catch(() => undefined);
      graph.#refuse("its build function is async. Build the graph synchronously, without await.");
    }
    return graph.#plan(schemas);
  }

  #plan(schemas: Schemas): GraphPlan {
    this.#built = true;
    const problem = branchProblem({ nodes: this.#nodes, edges: this.#edges });
    if (problem !== undefined) this.#refuse(problem);
    const reached = this.#reached();
    if (!reached.has("finish")) this.#refuse('"finish" cannot be reached from "start". Add the edges that lead there.');
    const unreached = [...this.#nodes.keys()].filter((name) => !reached.has(name));
    if (unreached.length > 0)
      warnOnce(
        "unreachable_node",
        `No edge leads to ${quotedList(unreached)} of graph "${this.#graph}": only setExecutionPoint can reach a node without an incoming edge. If that is not intended, add the missing edge.`,
      );
    return { nodes: this.#nodes, edges: this.#edges, ...schemasOf(schemas) };
  }

  #add(name: string, plan: (handle: object) => NodePlan): object {
    if (this.#built) this.#refuse(`node "${name}" was added after the graph was built.`);
    if (typeof name !== "string" || name === "" || name.includes("/")) {
      this.#refuse(
        `"${String(name)}" is not a node name. Use a non-empty name without "/", which separates the names of a path.`,
      );
    }
    if (name === "start" || name === "finish")
      this.#refuse(`"${name}" is reserved for the beginning or the end of a graph. Give the node another name.`);
    if (this.#nodes.has(name)) throw new DuplicateNameError("duplicate_node", name, this.#graph);
    const handle = Object.freeze({ name });
    this.#nodes.set(name, plan(handle));
    this.#names.set(handle, name);
    return handle;
  }

  #joining<Options extends ParallelOptions>(
    name: string,
    schema: z.core.$ZodType,
    rest: Rest<Options>,
  ): [Options, Merge] {
    const [options, merge] = rest.length === 2 ? rest : [{} as Options, rest[0]];
    checkSchema(schema, options, `options of parallel node "${name}"`);
    if (typeof merge !== "function")
      this.#refuse(`parallel node "${name}" has no merge. Pass a function as the last argument.`);
    return [options, merge];
  }

  #namedBranches(parallel: string, branches: Readonly<Record<string, object>>): ReadonlyMap<string, string> {
    if (!plainObject.safeParse(branches).success) {
      const received = Array.isArray(branches) ? "an array" : kindOf(branches);
      this.#refuse(`parallel node "${parallel}" takes its branches as { name: node }, received ${received}.`);
    }
    if (Object.keys(branches).length === 0)
      this.#refuse(`parallel node "${parallel}" has no branches. Give it at least one node by name: { first: node }.`);
    return new Map(
      Object.entries(branches).map(([branch, node]) => {
        if (branch === "" || /[/#]/.test(branch))
          this.#refuse(
            `"${branch}" of "${parallel}" is not a branch name. Use a non-empty name without "/" and "#", which separate the names of a path.`,
          );
        return [branch, this.#branch(node, parallel, `branch "${branch}" of "${parallel}"`)];
      }),
    );
  }

  #branch(node: object, parallel: string, place: string): string {
    const name = this.#nameOf(node, { user: place, rule: "Pass a node of this graph." });
    if (node === this.start || node === this.finish)
      this.#refuse(
        `${place} is graph.${name}, which is no node. Pass what graph.node(…) or graph.subgraph(…) returned.`,
      );
    const owner = this.#branchOf.get(name);
    if (owner !== undefined)
      this.#refuse(
        `${place} is "${name}", which is already a branch of "${owner}". A node can be only one branch, so add another node.`,
      );
    this.#branchOf.set(name, parallel);
    return name;
  }

  #nameOf(node: object, use: Use): string {
    const name = this.#names.get(node);
    if (name !== undefined) return name;
    if (typeof node !== "object" || node === null) return this.#refuse(noNode(node, use));
    const stranger = String((node as { readonly name?: unknown }).name);
    return this.#refuse(`${use.user} names the node "${stranger}" of another graph. ${use.rule}`);
  }

  #reached(): ReadonlySet<string> {
    const seen = new Set(["start"]);
    for (const name of seen) {
      for (const { to } of this.#edges.get(name) ?? []) seen.add(to);
      const node = this.#nodes.get(name);
      if (node?.kind === "parallel") for (const branch of branchNodes(node)) seen.add(branch);
    }
    return seen;
  }

  #checkSchemas(schemas: Schemas, of: string): void {
    checkSchema(schemasSchema, schemas, `options of ${of}`);
    for (const [key, schema] of Object.entries({ input: schemas.input, output: schemas.output }))
      if (schema !== undefined && !zodSchema.safeParse(schema).success)
        this.#refuse(`"${key}" of ${of} is no zod schema.`);
  }

  #refuse(problem: string): never {
    throw new InvalidStrategyError(this.#graph, problem);
  }
}

/** A use of a node in the graph, and the rule that the node must follow for it. */
interface Use {
  readonly user: string;
  readonly rule: string;
}

const edgeUse: Use = { user: "an edge", rule: "An edge connects two nodes of one graph." };

function noNode(given: unknown, use: Use): string {
  if (typeof given === "function") return `${use.user} is given a function. Pass what graph.node(…) returned.`;
  const isEnd = use === edgeUse && (given === "start" || given === "finish");
  const own = isEnd ? `graph.${given}` : "what graph.node(…) returned";
  return `${use.user} is given ${JSON.stringify(given)} in place of a node. Pass ${own}.`;
}

function schemasOf({ input, output }: Schemas): Schemas {
  return withoutUndefined({ input, output });
}

function joinedAs({
  history = "fork",
  onFailure = "finish",
}: ParallelOptions): Pick<ParallelPlan, "history" | "onFailure"> {
  return { history, onFailure };
}
