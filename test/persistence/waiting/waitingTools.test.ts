import {
  AIAgent,
  NoPersistenceStorageProvider,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type AnyTool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { cases } from "../../soak/cases.ts";
import { asking, idOf, idsOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { recordedCalls } from "../support/stored.ts";
import { logStorages, RowsProvider } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** The default loop in two nodes: the model asks for calls, they are made, and it says how it went. */
const loop = strategy<string, string>("loop", (g) => {
  const only = g.node("only", async (input: string, context: AgentContext) => {
    context.llm.append({ role: "user", content: input });
    const asked = await context.llm.request();
    const { content } = await context.tools.execute(asked);
    return content.map((part) => (part.type === "tool-result" ? String(part.output) : "")).join();
  });
  g.edge(g.start, only);
  g.edge(only, g.finish);
});

/** A tool that asks before it acts. */
const refund = (world: World) =>
  tool({
    name: "refund",
    description: "",
    inputSchema: z.object({ item: z.string() }),
    effect: "irreversible",
    execute: async ({ item }, options) => {
      world.nodes.push(options.toolCallId);
      const schema = z.enum(["yes", "no"]);
      const answer = await options.context.requestInput({ prompt: `refund ${item}?`, schema });
      if (answer === "yes") world.add(item, options, "refund");
      return answer;
    },
  });

describe.each(logStorages)("$name: a tool call that requests input", (storage) => {
  it("is suspended, and starts again under its id after the answer, without repeating other calls", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book", "irreversible");
    const tools = [refund(world), book] as readonly AnyTool[];
    const calls = ["refund", "book"].map((toolName) => ({ toolName, input: { item: "hat" } }));
    const turns = [{ toolCalls: calls }];
    const request = idOf(await durableAgent(loop, opened(), { tools, turns }).run("go"));
    expect(world.done).toEqual(["book hat"]);
    expect((await recordedCalls(opened())).inDoubt).toEqual(new Set());
    const done = await durableAgent(loop, opened(), { tools }).resume({ answers: { [request]: "yes" } });
    expect(done).toMatchObject({ status: "completed" });
    expect(world.done).toEqual(["book hat", "refund hat"]);
    const [first, second] = world.nodes;
    expect(second).toBe(first);
    expect(world.effects.has(first ?? "")).toBe(true);
  });

  it("waits within the call that made it", async () => {
    const opened = await storage.open();
    const world = new World();
    const inner = refund(world);
    const outer = tool({
      name: "outer",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "irreversible",
      execute: async (input, { context }) => `outer ${await context.tools.call(inner, input)}`,
    });
    const graph = asking((input, context) => context.tools.call(outer, { item: input }));
    const tools = [inner, outer] as readonly AnyTool[];
    const request = idOf(await durableAgent(graph, opened(), { tools }).run("hat"));
    const done = await durableAgent(graph, opened(), { tools }).resume({ answers: { [request]: "yes" } });
    expect(done).toMatchObject({ output: "outer yes" });
    expect(world.done).toEqual(["refund hat"]);
  });

  it("is in doubt if the process ends after the answer, in the middle of the call", async () => {
    const opened = await storage.open();
    const world = new World();
    const halting = new AbortController();
    const halts = tool({
      name: "halts",
      description: "",
      inputSchema: z.object({}),
      effect: "irreversible",
      execute: async (_input, { context, abortSignal }) => {
        await context.requestInput({ prompt: "?", schema: z.string() });
        world.done.push("halts");
        halting.abort(new RangeError("gone"));
        abortSignal.throwIfAborted();
      },
    });
    const graph = asking(async (_input, context) => String(await context.tools.call(halts, {})));
    const agent = durableAgent(graph, opened(), { tools: [halts] });
    const answers = { [idOf(await agent.run("go"))]: "x" };
    await expect(agent.resume({ answers, signal: halting.signal })).rejects.toThrow("gone");
    await expect(agent.resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
    expect(world.done).toEqual(["halts"]);
  });

  it("is listed as not undone if the agent is rolled back", async () => {
    const opened = await storage.open();
    const world = new World();
    const graph = asking((input, context) => context.tools.call(refund(world), { item: input }));
    const agent = durableAgent(graph, opened(), { tools: [refund(world)] });
    await agent.run("hat");
    const report = await persistence(agent).agent().rollbackToLatestCheckpoint();
    expect(report.skipped).toMatchObject([{ toolName: "refund" }]);
    expect([report.failed, report.irreversible, report.reverted]).toEqual([[], [], []]);
  });
});

describe("a request without a storage to keep it", () => {
  const ask = asking((_input, context) => context.requestInput({ prompt: "?", schema: z.string() }));

  it("is refused by a three-method storage and by a storage that keeps nothing", async () => {
    for (const storage of [new RowsProvider(), new NoPersistenceStorageProvider()])
      await expect(durableAgent(ask, storage).run("go")).rejects.toMatchObject({
        code: "waiting_not_supported",
        agentId: "a",
        nodeId: "ask",
      });
  });

  it("is refused without Persistence, and the error names the feature", async () => {
    const agent = new AIAgent({ llmModel: "scripted", promptExecutor: scriptedModel([]), strategy: ask });
    await expect(agent.run("go")).rejects.toMatchObject({
      code: "feature_not_installed",
      feature: "Persistence",
      neededBy: "requestInput()",
    });
  });
});

/** What a node does, one step after the other; steps of a group at the same time. */
type Step = { readonly do: "ask" | "book"; readonly item: string };
const step = fc.record({ do: fc.constantFrom("ask" as const, "book" as const), item: fc.string({ maxLength: 3 }) });
const program = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });

/** A node that carries a program out. */
function following(groups: readonly (readonly Step[])[], book: ReturnType<World["adder"]>) {
  const one = (context: AgentContext, { do: what, item }: Step) =>
    what === "ask"
      ? context.requestInput({ prompt: item, schema: z.string() })
      : context.tools.call(book, { item }).then(({ made }) => made);
  return asking(async (_input, context) => {
    const outputs: string[] = [];
    for (const group of groups) outputs.push(...(await Promise.all(group.map((each) => one(context, each)))));
    return outputs.join("|");
  });
}

describe.each(logStorages)("$name: random requests and calls", (storage) => {
  it("are each answered or made once, with the same outcome as without waiting", async () => {
    const property = fc.asyncProperty(program, fc.infiniteStream(fc.nat()), async (groups, chance) => {
      const opened = await storage.open();
      const world = new World();
      const book = world.adder("book", "irreversible");
      const agent = () => durableAgent(following(groups, book), opened(), { tools: [book] });
      const answered = new Set<string>();
      let result = await agent().run("go");
      while (result.status === "waiting") {
        const open = idsOf(result);
        const id = open[(chance.next().value ?? 0) % open.length] ?? "";
        expect(answered.has(id)).toBe(false);
        answered.add(id);
        const shown = result.requests.find(({ requestId }) => requestId === id);
        await persistence(agent())
          .agent()
          .answer(id, shown?.kind === "input" ? shown.prompt : "");
        result = await agent().resume();
      }
      const steps = groups.flat();
      expect(result).toMatchObject({ status: "completed", output: steps.map(({ item }) => item).join("|") });
      expect(answered.size).toBe(steps.filter((each) => each.do === "ask").length);
      expect(world.done.toSorted()).toEqual(
        steps.flatMap((each) => (each.do === "book" ? [`book ${each.item}`] : [])).toSorted(),
      );
    });
    await fc.assert(property, { numRuns: storage.name === "memory" ? cases(20, 60) : 12 });
  });
});
