import { type AgentContext, type Strategy, strategy, type Tool } from "agent-persistence";
import { pathOf } from "./eventsFor.ts";
import type { Act, Step } from "./TimeProgram.ts";

type Body = (input: string, context: AgentContext) => Promise<string>;
type Merge = (results: Readonly<Record<string, string>> | readonly string[]) => string;

/** A graph that is being built, without the types of its nodes. */
interface Graph {
  readonly start: object;
  readonly finish: object;
  node(name: string, run: Body): object;
  parallel(name: string, branches: Readonly<Record<string, object>>, merge: Merge): object;
  each(name: string, node: object, options: object, merge: Merge): object;
  edge(from: object, to: object, options?: object): void;
}

interface Performer {
  readonly perform: (act: Act, path: string, context: AgentContext) => Promise<string>;
  /** Makes a tool of a strategy. */
  readonly called: (strategy: Strategy<string, string>) => Tool<{ topic: string }, string>;
}

/** The strategy of a program. Each node returns its input and the results of its acts. */
export function timeStrategy(steps: readonly Step[], performer: Performer): Strategy<string, string> {
  const body =
    (kind: Step["kind"], acts: readonly Act[], withinOf: (input: string) => string): Body =>
    async (input, context) => {
      const results = [input];
      for (const [at, act] of acts.entries())
        results.push(await performer.perform(act, pathOf(act, kind, withinOf(input), at), context));
      return results.join(" ");
    };
  const add = (graph: Graph, step: Step, at: number): object => {
    const name = `n${at}`;
    const node = (within: string, acts: readonly Act[]) =>
      graph.node(
        within,
        body(step.kind, acts, () => within),
      );
    switch (step.kind) {
      case "leaf":
        return node(name, step.acts);
      case "agent": {
        const inner = strategy<string, string>(`agent${at}`, (g) => {
          const only = g.node(
            "only",
            body(step.kind, step.acts, () => name),
          );
          g.edge(g.start, only);
          g.edge(only, g.finish);
        });
        const tool = performer.called(inner);
        return graph.node(name, async (topic, context) => String(await context.tools.call(tool, { topic })));
      }
      case "parallel": {
        const branches = step.branches.map((acts, branch) => [`b${branch}`, node(`${name}b${branch}`, acts)]);
        return graph.parallel(name, Object.fromEntries(branches), (results) => Object.values(results).join(" | "));
      }
      case "each": {
        const item = graph.node(
          `${name}item`,
          body(step.kind, step.acts, (input) => `${name}i${input.split(":")[0]}`),
        );
        return graph.each(name, item, { key: (input: string) => input.split(":")[0] }, (results) =>
          Object.values(results).join(" | "),
        );
      }
    }
  };
  return strategy<string, string>("time", (typed) => {
    const graph = typed as unknown as Graph;
    const nodes = steps.map((step, at) => add(graph, step, at));
    nodes.forEach((node, at) => {
      const step = steps[at];
      const map =
        step?.kind === "each"
          ? { map: (input: string) => Array.from({ length: step.items }, (_, item) => `${item}:${input}`) }
          : {};
      graph.edge(nodes[at - 1] ?? graph.start, node, map);
    });
    graph.edge(nodes.at(-1) ?? graph.start, graph.finish);
  });
}
