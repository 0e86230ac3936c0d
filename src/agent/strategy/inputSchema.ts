import { z } from "zod";
import { branchNodes } from "./branchProblem.ts";
import type { GraphPlan, NodePlan } from "./GraphPlan.ts";

/**
 * Returns the schema that checks the input of a node. The schemas of all branches apply to a parallel node. The schema
 * does not transform values; transformations run with the node.
 *
 * @returns `undefined` if any value is accepted.
 */
export function inputSchema(graph: GraphPlan, node: NodePlan): z.core.$ZodType | undefined {
  if (node.kind === "leaf") return node.input;
  if (node.kind === "subgraph") return node.graph.input;
  const schemas = branchNodes(node).flatMap((name) => {
    const branch = graph.nodes.get(name);
    return (branch && inputSchema(graph, branch)) ?? [];
  });
  if (node.branches.kind === "each") return z.array(schemas[0] ?? z.unknown());
  return schemas.length === 0 ? undefined : acceptedByAll(schemas);
}

/** An intersection of schemas would merge their results, which fails for schemas that transform the value. */
function acceptedByAll(schemas: readonly z.core.$ZodType[]): z.ZodType {
  return z.unknown().superRefine(async (value, refused) => {
    for (const schema of schemas) {
      const { error } = await z.safeParseAsync(schema, value);
      for (const { path, message } of error?.issues ?? []) refused.addIssue({ code: "custom", path, message });
    }
  });
}
