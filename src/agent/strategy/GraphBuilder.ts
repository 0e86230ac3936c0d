import { z } from "zod";
import { DuplicateNameError } from "../../errors/agent/DuplicateNameError.ts";
import { InvalidStrategyError } from "../../errors/agent/InvalidStrategyError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { quotedList } from "../../errors/quotedList.ts";
import { warnOnce } from "../../internal/warn.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { zodSchema } from "../../internal/options/optionSchemas.ts";
import { type EdgePlan, type GraphPlan, isStrategy, type LeafPlan, type NodePlan, planOf } from "./GraphPlan.ts";

type Body = LeafPlan["run"];
type Schemas = Pick<GraphPlan, "input" | "output">;
type EdgeOptions = Omit<EdgePlan, "to">;

// The graph checks the values, so that its errors name the node or the edge.
const schemasSchema = strictOptions({ input: z.unknown().optional(), output: z.unknown().optional() });
const edgeSchema = strictOptions({ when: z.unknown().optional(), map: z.unknown().optional() });

/** Implements `Graph`: the same methods without their types. */
export class GraphBuilder {
  readonly start: object = Object.freeze({ name: "start" });
  readonly finish: object = Object.freeze({ name: "finish" });
  readonly #graph: string;
  readonly #nodes = new Map<string, NodePlan>();
  readonly #edges = new Map<string, EdgePlan[]>();
  readonly #names = new Map<object, string>([
    [this.start, "start"],
    [this.finish, "finish"],
  ]);
  #built = false;

  constructor(graph: string) {
    this.#graph = graph;
  }

  /** @throws InvalidStrategyError, DuplicateNameError */
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

  edge(from: object, to: object, options: EdgeOptions = {}): void {
    const [source, target] = [this.#nameOf(from), this.#nameOf(to)];
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
        `the edge from "${source}" to "${target}" is never taken, because the edge to "${always.to}" before it has no condition. Add that one last, or give it a condition \`when\`.`,
      );
    const edge = withoutUndefined({ to: target, when: options.when, map: options.map });
    this.#edges.set(source, [...edges, edge]);
  }

  /** Runs a build function on a new graph. @throws InvalidStrategyError when the graph cannot run. */
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
    const reached = this.#reached();
    if (!reached.has("finish")) this.#refuse('"finish" cannot be reached from "start". Add the edges that lead there.');
    const unreached = [...this.#nodes.keys()].filter((name) => !reached.has(name));
    if (unreached.length > 0)
      warnOnce(
        "unreachable_node",
        `No edge leads to ${quotedList(unreached)} of graph "${this.#graph}": only setExecutionPoint can reach what no edge leads to. If that is not intended, add the missing edge.`,
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

  #nameOf(node: object): string {
    if (this.#built) this.#refuse("an edge was added after the graph was built.");
    const name = this.#names.get(node);
    if (name !== undefined) return name;
    if (typeof node !== "object" || node === null) return this.#refuse(noNode(node));
    const stranger = String((node as { readonly name?: unknown }).name);
    return this.#refuse(
      `an edge names the node "${stranger}" of another graph. An edge connects two nodes of one graph.`,
    );
  }

  /** The names of what edges lead to from the start. */
  #reached(): ReadonlySet<string> {
    const seen = new Set(["start"]);
    for (const name of seen) for (const { to } of this.#edges.get(name) ?? []) seen.add(to);
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

function noNode(given: unknown): string {
  const own = given === "start" || given === "finish" ? `graph.${given}` : "what graph.node(…) returned";
  return `an edge is given ${JSON.stringify(given)} in place of a node. Pass ${own}.`;
}

function schemasOf({ input, output }: Schemas): Schemas {
  return withoutUndefined({ input, output });
}
