import {
  AIAgent,
  Persistence,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
  type AgentContext,
  type PersistenceEvent,
  type PersistenceStorageProvider,
  type ToolCallOptions,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { runOf, visitOf } from "../../../src/agent/feature/ContextBinding.ts";
import type { Deeds } from "./Deeds.ts";
import type { Found } from "./readFound.ts";

interface Office {
  readonly storage: PersistenceStorageProvider;
  readonly deeds: Deeds;
  readonly found: Found;
  readonly onEvent: (event: PersistenceEvent) => void;
}

const none = { llmModel: "none", promptExecutor: scriptedModel([]) };

/**
 * Three branches and a merge. One goes back to its second node once, one asks a person and pays what was approved, and one calls
 * a manager, which calls a researcher, which pays what was approved, too.
 */
export function office({ storage, deeds, found, onEvent }: Office): AIAgent<string, string> {
  const act = (item: string, { toolCallId }: ToolCallOptions) => {
    if (found.outcomes.has(toolCallId)) deeds.add(`problem: ${item} was done and is made again`);
    deeds.add(`begins ${item} ${toolCallId}`);
    deeds.add(`did ${item} ${toolCallId}`);
    return item;
  };
  const inputSchema = z.object({ item: z.string() });
  const book = tool({
    name: "book",
    description: "",
    inputSchema,
    effect: "idempotent",
    execute: ({ item }, options) => act(item, options),
  });
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema,
    effect: "idempotent",
    needsApproval: ({ item }) => ({ prompt: `Pay ${item}?` }),
    execute: ({ item }, options) => act(item, options),
  });
  const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(
    book,
    ({ item }, { toolCallId }) => deeds.add(`undid ${item} ${toolCallId}`),
    { effect: "idempotent" },
  );

  /** Says which node runs, and does what it does. */
  const visit =
    (name: string, more: (context: AgentContext) => unknown = () => undefined) =>
    async (input: string, context: AgentContext): Promise<string> => {
      const { lane } = runOf(context).line;
      const stored = found.lanes.get(lane);
      if (stored && (stored.ended || visitOf(context).base < stored.base))
        deeds.add(`problem: ${name} had finished and runs again`);
      deeds.add(`node ${name}`);
      await context.tools.call(book, { item: `${name} begun` });
      // The result of a move is no output.
      const result = (await more(context)) as string | undefined;
      if (typeof result === "object") return result;
      await context.tools.call(book, { item: `${name} ended` });
      return [input, name, ...(result === undefined ? [] : [result])].join(" ");
    };

  const researcher = new AIAgent({
    ...none,
    tools: [book, pay],
    strategy: strategy<string, string>("research", (graph) => {
      const look = graph.node("look", visit("look"));
      const write = graph.node(
        "write",
        visit("write", (context) => context.tools.call(pay, { item: "paper" })),
      );
      graph.edge(graph.start, look);
      graph.edge(look, write);
      graph.edge(write, graph.finish);
    }),
  }).install(Persistence, { rollbackToolRegistry });
  const research = researcher.asTool({
    name: "research",
    description: "",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
  });
  const manager = new AIAgent({
    ...none,
    tools: [book, research],
    strategy: strategy<string, string>("manage", (graph) => {
      const brief = graph.node("brief", visit("brief"));
      const manage = graph.node(
        "manage",
        visit("manage", async (context) => {
          const found = ["x", "y"].map((topic) => context.tools.call(research, { topic }));
          return (await Promise.all(found)).join(" and ");
        }),
      );
      graph.edge(graph.start, brief);
      graph.edge(brief, manage);
      graph.edge(manage, graph.finish);
    }),
  }).install(Persistence, { rollbackToolRegistry });
  const ask = manager.asTool({
    name: "manage",
    description: "",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
  });

  const chief = strategy<string, string>("chief", (graph) => {
    const plan = graph.node("plan", visit("plan"));
    const chain = graph.subgraph<string, string>("chain", (inner) => {
      const one = inner.node("one", visit("one"));
      const two = inner.node("two", visit("two"));
      const three = inner.node("three", visit("three", goBackOnce));
      inner.edge(inner.start, one);
      inner.edge(one, two);
      inner.edge(two, three);
      inner.edge(three, inner.finish);
    });
    const people = graph.subgraph<string, string>("people", (inner) => {
      const size = inner.node(
        "size",
        visit("size", (context) => context.requestInput({ prompt: "Which size?", schema: z.string() })),
      );
      const order = inner.node(
        "order",
        visit("order", (context) => context.tools.call(pay, { item: "order" })),
      );
      inner.edge(inner.start, size);
      inner.edge(size, order);
      inner.edge(order, inner.finish);
    });
    const lead = graph.node(
      "lead",
      visit("lead", (context) => context.tools.call(ask, { topic: "whales" })),
    );
    const both = graph.parallel("both", { chain, people, lead }, (results, context) =>
      visit("merge")(Object.values(results).join(", "), context),
    );
    const end = graph.node("end", visit("end"));
    graph.edge(graph.start, plan);
    graph.edge(plan, both);
    graph.edge(both, end);
    graph.edge(end, graph.finish);
  });
  return new AIAgent({ ...none, id: "a", tools: [book, pay, ask], strategy: chief }).install(Persistence, {
    storage,
    rollbackToolRegistry,
    onEvent,
  });
}

/** Back to the branch's second node, unless that was done. */
async function goBackOnce(context: AgentContext): Promise<unknown> {
  const checkpoints = await persistence(context).getCheckpoints();
  if (checkpoints.some(({ revertedToolCallIds = [] }) => revertedToolCallIds.length > 0)) return undefined;
  const two = checkpoints.findLast(({ nodeId }) => nodeId === "chain/two");
  return persistence(context).rollbackToCheckpoint(two?.checkpointId ?? "none");
}
