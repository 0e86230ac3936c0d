import type { GraphPlan } from "./GraphPlan.ts";

const plans = new WeakMap<object, GraphPlan>();

/** Ties a plan to the strategy that stands for it. */
export function registerPlan(strategy: object, plan: GraphPlan): void {
  plans.set(strategy, plan);
}

export function isStrategy(value: unknown): boolean {
  return plans.has(value as object);
}

/** The plan of a strategy. */
export function planOf(strategy: object): GraphPlan {
  const plan = plans.get(strategy);
  if (!plan) throw new TypeError("Expected what strategy(…) returned, found another object.");
  return plan;
}
