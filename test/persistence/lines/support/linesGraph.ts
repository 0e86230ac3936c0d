import { strategy, type AgentContext, type Strategy } from "agent-persistence";
import { count, digest, type LinesWorld } from "./LinesWorld.ts";
import { type Actor, performActs, type Site } from "./performAct.ts";
import type { LineBody, LineJoin, LineStep } from "./randomLines.ts";

type Output = Promise<string>;
type Merge = (results: unknown, context: MergeLike) => Output;
type MergeLike = AgentContext & { readonly branches: Readonly<Record<string, BranchLike>> | readonly BranchLike[] };
interface BranchLike {
  readonly messages: AgentContext["llm"]["messages"];
  readonly storage: Pick<AgentContext["storage"], "get">;
  adopt(): void;
}

/** A graph that is being built, without the types of its nodes. */
interface Graph {
  readonly start: object;
  readonly finish: object;
  node(name: string, run: (input: string, context: AgentContext) => Output): object;
  subgraph(name: string, build: (graph: Graph) => void): object;
  parallel(name: string, branches: Readonly<Record<string, object>>, options: object, merge: Merge): object;
  each(name: string, node: object, options: object, merge: Merge): object;
  edge(from: object, to: object, options?: object): void;
}

/** The strategy of an agent, from what its graph has between its start and its end. */
export function linesStrategy(world: LinesWorld, actor: Actor, body: LineBody): Strategy<string, string> {
  const builder = new LinesGraph(world, actor);
  return strategy<string, string>("lines", (graph) => builder.build(graph as unknown as Graph, "", body));
}

class LinesGraph {
  readonly #world: LinesWorld;
  readonly #actor: Actor;

  constructor(world: LinesWorld, actor: Actor) {
    this.#world = world;
    this.#actor = actor;
  }

  build(graph: Graph, within: string, body: LineBody): void {
    const path = (at: number) => `${within}n${at}`;
    const nodes = body.map((step, at) => {
      const next = body[at + 1]?.kind === "leaf" ? path(at + 1) : undefined;
      const before = body.slice(0, at).flatMap(({ kind }, each) => (kind === "leaf" ? [path(each)] : []));
      return this.#step(graph, `n${at}`, step, { path: path(at), before, next });
    });
    nodes.forEach((node, at) => {
      const map = body[at]?.kind === "each" ? { map: itemsOf(body[at].items) } : {};
      graph.edge(nodes[at - 1] ?? graph.start, node, map);
    });
    graph.edge(nodes.at(-1) ?? graph.start, graph.finish);
  }

  #step(graph: Graph, name: string, step: LineStep, site: Site): object {
    switch (step.kind) {
      case "leaf":
        return this.#leaf(graph, name, step.acts, site);
      case "subgraph":
        return graph.subgraph(name, (inner) => this.build(inner, `${site.path}/`, step.body));
      case "parallel": {
        const branches = step.branches.map((body, at) => [`b${at}`, this.#branch(graph, site, `${name}b${at}`, body)]);
        const { history, onFailure } = step;
        return graph.parallel(name, Object.fromEntries(branches), { history, onFailure }, this.#merge(step, site));
      }
      case "each": {
        const { history, onFailure, concurrency } = step;
        const node = this.#branch(graph, site, `${name}item`, step.body);
        const options = { history, onFailure, concurrency, key: (item: string) => item };
        return graph.each(name, node, options, this.#merge(step, site));
      }
    }
  }

  #leaf(graph: Graph, name: string, acts: LineJoin["merge"], site: Site): object {
    const at = { world: this.#world, actor: this.#actor, site };
    return graph.node(name, (input, context) => performActs(acts, { ...at, input, context }));
  }

  /** A branch of one node is that node; one of several is a subgraph. */
  #branch(graph: Graph, { path }: Site, name: string, body: LineBody): object {
    const [only] = body;
    const at = path.split("/").slice(0, -1).concat(name).join("/");
    if (body.length === 1 && only?.kind === "leaf") return this.#leaf(graph, name, only.acts, { path: at, before: [] });
    return graph.subgraph(name, (inner) => this.build(inner, `${at}/`, body));
  }

  #merge({ messages, merge }: LineJoin, site: Site): Merge {
    return async (results, context) => {
      const branches = Array.isArray(context.branches) ? context.branches : Object.values(context.branches);
      if (messages === "append") context.llm.append(...branches.flatMap((branch) => branch.messages));
      if (typeof messages === "number") branches[messages % branches.length]?.adopt();
      const added = branches.map((branch) => branch.storage.get(count) ?? 0);
      const total = added.reduce((sum, each) => sum + each, 0);
      if (branches.length > 0) context.storage.set(count, total);
      const at = { world: this.#world, actor: this.#actor, site };
      return performActs(merge, { ...at, input: digest(results), context });
    };
  }
}

/** The items of `graph.each` for an output. */
const itemsOf = (items: number) => (text: string) => Array.from({ length: items }, (_, at) => `${text}-${at}`);
