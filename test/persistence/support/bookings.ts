import {
  persistence,
  RollbackToolRegistry,
  strategy,
  type AgentContext,
  type PersistenceStorageProvider,
  type Tool,
  type ToolEffect,
} from "agent-persistence";
import { durableAgent, type DurableOptions, type Fault } from "./durableAgent.ts";
import type { World } from "./World.ts";

type Book = Tool<{ readonly item: string }, { readonly made: string }>;

export interface BookingOptions extends Omit<DurableOptions, "tools" | "registry"> {
  /** Of the tool that books. */
  readonly effect?: ToolEffect;
  readonly probe?: Book["probe"];
  /** Of the inverse. */
  readonly inverseEffect?: ToolEffect;
  /** What goes wrong with one inverse. Default: nothing. */
  readonly stuck?: { readonly item: string; readonly fault: Pick<Fault, "strike"> };
  /** Default true. */
  readonly registered?: boolean;
}

/** An agent that makes bookings, one after the other in one node, which an inverse reverts. */
export function bookings(
  world: World,
  storage: PersistenceStorageProvider,
  items: readonly string[],
  options: BookingOptions = {},
) {
  const { effect, probe, inverseEffect, stuck, registered = true, ...rest } = options;
  const book: Book = { ...world.adder("book", effect), ...(probe && { probe }) };
  const registry = new RollbackToolRegistry();
  const inverse = ({ item }: { readonly item: string }, { toolCallId }: { readonly toolCallId: string }) => {
    if (item === stuck?.item) stuck.fault.strike();
    world.remove(toolCallId, item);
  };
  if (registered) registry.registerRollback(book, inverse, inverseEffect && { effect: inverseEffect });
  const graph = strategy<string, string>("bookings", (g) => {
    const all = g.node("all", async (input: string, context: AgentContext) => {
      for (const item of items) await context.tools.call(book, { item });
      return input;
    });
    g.edge(g.start, all);
    g.edge(all, g.finish);
  });
  const agent = durableAgent(graph, storage, { tools: [book], registry, ...rest });
  return { agent, outside: persistence(agent).agent() };
}

/** Goes back to the first checkpoint of an agent. */
export async function undoAll({ outside }: Pick<ReturnType<typeof bookings>, "outside">) {
  const [first] = await outside.getCheckpoints();
  return outside.rollbackToCheckpoint(first?.checkpointId ?? "");
}
