import { InvalidStrategyError, NoMatchingEdgeError } from "../../errors/strategyErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { EdgePlan, GraphPlan } from "../strategy/GraphPlan.ts";
import type { StrategyGraph, Crossing, NextStep } from "../strategy/StrategyGraph.ts";

/** The maximum number of subgraphs entered and left between two nodes. Exceeded only by a loop without a node. */
const maxCrossings = 1_000;

/**
 * Returns the next step. Follows the first edge whose condition is true, into and out of subgraphs, to the next node
 * that runs code, or to the end.
 *
 * @param from A node path, "start", or the path of a subgraph with "/start".
 * @param root The node or subgraph after which the branch ends. "" for the whole strategy.
 * @throws NoMatchingEdgeError, InvalidInputError
 */
export function advance(graph: StrategyGraph, from: string, output: unknown, root = ""): NextStep {
  const within = from.split("/");
  let at = within.pop() ?? "start";
  let value = output;
  const crossings: Crossing[] = [];
  while (crossings.length < maxCrossings) {
    if ([...within, at].join("/") === root) return stepTo("finish", value, crossings);
    const plan = graph.graphAt(within);
    const edge = matchingEdge(plan, [...within, at].join("/"), value);
    value = edge.map ? edge.map(value) : value;
    const path = [...within, edge.to].join("/");
    const target = plan.nodes.get(edge.to);
    if (target && target.kind !== "subgraph") return stepTo(path, value, crossings);
    if (target) {
      value = checkSchema(target.graph.input, value, `input of subgraph "${path}"`);
      crossings.push({ kind: "entered", path, value: frozenCopy(value) });
      within.push(edge.to);
      at = "start";
      continue;
    }
    const left = within.join("/");
    value = checkSchema(
      plan.output,
      value,
      left === "" ? `output of strategy "${graph.name}"` : `output of subgraph "${left}"`,
    );
    const outer = within.pop();
    if (outer === undefined) return stepTo("finish", value, crossings);
    crossings.push({ kind: "left", path: left, value: frozenCopy(value) });
    at = outer;
  }
  throw new InvalidStrategyError(graph.name, `the subgraphs after "${from}" form a cycle without a node.`);
}

function matchingEdge({ edges }: GraphPlan, path: string, output: unknown): EdgePlan {
  const all = edges.get(path.slice(path.lastIndexOf("/") + 1)) ?? [];
  const edge = all.find(({ when }) => when === undefined || when(output));
  if (edge) return edge;
  throw new NoMatchingEdgeError(
    path,
    all.map(({ to }) => to),
  );
}

function stepTo(nodeId: string, input: unknown, crossings: readonly Crossing[]): NextStep {
  const paths = (kind: Crossing["kind"]) =>
    crossings.filter((crossing) => crossing.kind === kind).map(({ path }) => path);
  return { nodeId, input: frozenCopy(input), entered: paths("entered"), left: paths("left"), crossings };
}
