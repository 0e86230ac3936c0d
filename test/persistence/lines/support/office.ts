import {
  AIAgent,
  type AgentContext,
  callModel,
  callTools,
  hasToolCalls,
  Persistence,
  type PromptExecutor,
  storageKey,
  strategy,
  textOf,
  type ToolMessage,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { durableAgent } from "../../support/durableAgent.ts";
import type { World } from "../../support/World.ts";

const draft = storageKey("draft", z.string());

/** How many steps each of two researchers makes, and how much it stores with each. */
export interface OfficeSize {
  readonly steps: number;
  readonly bytes: number;
}

export const officeOutput = "asked true, brief, left 0 left 0";

/**
 * A parallel node: one branch asks and goes on once it has its answer, one has ended at once, and one visits a single node that
 * calls two researchers at the same time, which make all of the steps. In each step a model books something, and what is stored changes.
 */
export function office(world: World, { steps, bytes }: OfficeSize) {
  const book = world.adder("book", "idempotent");
  const research = strategy<string, string>("research", (graph) => {
    const think = graph.node("think", async (input: string | ToolMessage, context) => {
      const [name, left] = typeof input === "string" ? [input, steps] : nextOf(context.storage.get(draft));
      world.nodes.push(`${name} ${left}`);
      context.storage.set(draft, `${name} ${left} `.padEnd(bytes, "."));
      if (typeof input !== "string") context.llm.append(input);
      context.llm.rewrite((messages) => messages.slice(-2));
      return callModel(`${name} ${left}`, context);
    });
    const act = graph.node("act", callTools);
    graph.edge(graph.start, think);
    graph.edge(think, act, { when: hasToolCalls });
    graph.edge(act, think);
    graph.edge(think, graph.finish, { when: (answer) => !hasToolCalls(answer), map: textOf });
  });
  const researcher = new AIAgent({
    llmModel: "m",
    promptExecutor: booking,
    strategy: research,
    tools: [book],
    maxIterations: 100_000,
  }).install(Persistence, {});
  const ask = researcher.asTool({
    name: "research",
    description: "",
    inputSchema: z.object({ name: z.string() }),
    input: ({ name }) => name,
  });
  const chief = strategy<string, string>("chief", (graph) => {
    const desk = graph.node("desk", async (_: string, context: AgentContext) => {
      world.nodes.push("desk");
      await context.tools.call(book, { item: "desk" });
      return `asked ${await context.requestInput({ prompt: "ok?", schema: z.boolean() })}`;
    });
    const brief = graph.node("brief", async (_: string, context: AgentContext) => {
      world.nodes.push("brief");
      context.llm.append({ role: "user", content: "brief" });
      return "brief";
    });
    const lead = graph.node("lead", async (_: string, context: AgentContext) => {
      await context.tools.call(book, { item: "lead" });
      const ends = ["x", "y"].map((name) => context.tools.call(ask, { name }));
      return (await Promise.all(ends)).join(" ");
    });
    const both = graph.parallel("both", { desk, brief, lead }, (results) => Object.values(results).join(", "));
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
  return (storage: Parameters<typeof durableAgent>[1]) => durableAgent(chief, storage, { tools: [ask, book] });
}

/** What is booked once it is done. */
export function officeItems({ steps }: OfficeSize): readonly string[] {
  const booked = ["x", "y"].flatMap((name) => Array.from({ length: steps }, (_, at) => `${name} ${at + 1}`));
  return [...booked, "desk", "lead"].sort();
}

/** A model that books what the last message says, until nothing is left. */
const booking: PromptExecutor = {
  execute(request) {
    const item = String(request.messages.at(-1)?.content as string);
    const turn = item.endsWith(" 0") ? "left 0" : { toolCalls: [{ toolName: "book", input: { item } }] };
    return scriptedModel([turn]).execute({ ...request, messages: [] });
  },
};

function nextOf(stored = ""): [name: string, left: number] {
  const [name = "", left] = stored.split(" ");
  return [name, Number(left) - 1];
}
