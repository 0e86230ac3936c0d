import { seededNumbers } from "../../src/testing/powerLoss/RecordedTree.ts";
import type { Contention } from "./Contention.ts";

/** What was found in all orders of calls. */
export interface Exploration {
  readonly states: number;
  readonly executions: number;
  /** What is wrong, and after which order of calls. */
  readonly found: string | undefined;
}

/**
 * Executes a contention in every order of calls, each state once: the real code, from its beginning each time. In every
 * state all processes may end, or power may be lost.
 *
 * @param maxStates ends after so many states; which ones follows from a seed. Default: all.
 */
export async function exploreOrders(begin: () => Promise<Contention>, maxStates = Infinity): Promise<Exploration> {
  const random = seededNumbers(1);
  const visited = new Set<string>();
  const unexplored: (readonly number[])[] = [[]];
  let executions = 0;
  while (unexplored.length > 0 && visited.size < maxStates) {
    const [order = []] = unexplored.splice(Math.floor(random() * unexplored.length), 1);
    executions++;
    const contention = await begin();
    for (const at of order) await contention.processes[at]?.step();
    const found = await followFirst(contention, [...order], visited, unexplored);
    if (found !== undefined) return { states: visited.size, executions, found };
  }
  return { states: visited.size, executions, found: undefined };
}

/** Goes on until a state is known or everything is done; other ways from each state are left for later. */
async function followFirst(
  contention: Contention,
  order: number[],
  visited: Set<string>,
  unexplored: (readonly number[])[],
): Promise<string | undefined> {
  for (;;) {
    const durable = contention.durable();
    const state = contention.state(durable);
    if (visited.has(state)) return undefined;
    visited.add(state);
    const violations = [...(await contention.violations()), ...(await contention.violations(durable))];
    if (violations.length > 0) return `${violations.join("; ")} after ${order.join("")}`;
    const [next, ...others] = contention.processes.flatMap(({ waits }, at) => (waits ? [at] : []));
    if (next === undefined) return undefined;
    for (const other of others) unexplored.push([...order, other]);
    await contention.processes[next]?.step();
    order.push(next);
  }
}
