import { z } from "zod";
import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { EachBranchesPlan } from "../strategy/GraphPlan.ts";
import type { StrategyGraph } from "../strategy/StrategyGraph.ts";

export interface PlannedBranch {
  readonly key: string;
  readonly root: string;
  readonly input: unknown;
}

/**
 * Returns the branches of a parallel node in order.
 *
 * @throws InvalidInputError if the input of `graph.each` is not an array, or a key is not a string.
 * @throws DuplicateNameError if two items have the same key.
 */
export function plannedBranches(graph: StrategyGraph, nodeId: string, input: unknown): readonly PlannedBranch[] {
  const plan = graph.branchesOf(nodeId);
  if (plan.kind === "named") return [...plan.nodes].map(([key, root]) => ({ key, root, input }));
  const items = checkSchema(itemsSchema, input, `input of node "${nodeId}"`) as readonly unknown[];
  const keys = items.map((item, index) => keyOf(plan, nodeId, item, index));
  const seen = new Set<string>();
  for (const key of keys) {
    if (seen.has(key)) throw new DuplicateNameError("duplicate_branch", key, nodeId);
    seen.add(key);
  }
  return items.map((item, index) => ({ key: keys[index] ?? "", root: plan.node, input: frozenCopy(item) }));
}

const itemsSchema = z.array(z.unknown());

function keyOf({ key }: EachBranchesPlan, nodeId: string, item: unknown, index: number): string {
  if (!key) return String(index);
  return checkSchema(z.string(), key(item, index), `key of item ${index} of node "${nodeId}"`) as string;
}
