import {
  AIAgent,
  type AgentContext,
  Persistence,
  persistence,
  type RetentionPolicy,
  RollbackToolRegistry,
  storageKey,
  strategy,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { falseIfCrash } from "../support/causesOf.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { every } from "../../soak/cases.ts";

const found = storageKey("found", z.array(z.string()));

/** A branch of three nodes, one of which asks another agent, beside one that may ask a person; then a branch for each of some items. */
function forking(world: World, { asks = false, items = 3, failures = 0 } = {}) {
  let left = failures;
  const book = world.adder("book", "idempotent");
  const registry = new RollbackToolRegistry().registerRollback(book, (_input, { toolCallId, output }) =>
    world.remove(toolCallId, output.made),
  );
  const step = async (name: string, context: AgentContext) => {
    world.nodes.push(name);
    await context.tools.call(book, { item: name });
    context.llm.append({ role: "user", content: `did ${name}` });
    context.storage.set(found, [...(context.storage.get(found) ?? []), name]);
    return name;
  };
  const researcher = new AIAgent({
    llmModel: "m",
    promptExecutor: scriptedModel([]),
    strategy: strategy<string, string>("research", (g) => {
      const look = g.node("look", (text: string, context: AgentContext) => step(`${text} look`, context));
      const write = g.node("write", (text: string, context: AgentContext) => step(`${text} write`, context));
      g.edge(g.start, look);
      g.edge(look, write);
      g.edge(write, g.finish);
    }),
    tools: [book],
  }).install(Persistence, { rollbackToolRegistry: registry });
  const research = researcher.asTool({
    name: "research",
    description: "",
    inputSchema: z.object({ topic: z.string() }),
    input: ({ topic }) => topic,
  });
  const graph = strategy<string, string>("forking", (g) => {
    const first = g.node("first", (text: string, context: AgentContext) => step(`${text} first`, context));
    const quick = g.node("quick", async (text: string, context: AgentContext) => {
      const done = await step(`${text} quick`, context);
      if (left-- > 0) throw new RangeError("not yet");
      return asks ? await context.requestInput({ prompt: "?", schema: z.string() }) : done;
    });
    const slow = g.subgraph<string, string>("slow", (inner) => {
      const one = inner.node("one", (text: string, context: AgentContext) => step(`${text} one`, context));
      const two = inner.node("two", (text: string, context: AgentContext) =>
        context.tools.call(research, { topic: text }),
      );
      const three = inner.node("three", (text: string, context: AgentContext) => step(`${text} three`, context));
      inner.edge(inner.start, one);
      inner.edge(one, two);
      inner.edge(two, three);
      inner.edge(three, inner.finish);
    });
    const both = g.parallel("both", { quick, slow }, async (results, context) => {
      await step("merge", context);
      context.llm.append(...context.branches.slow.messages, ...context.branches.quick.messages);
      context.storage.set(found, context.branches.slow.storage.get(found) ?? []);
      return `${results.quick}, ${results.slow}`;
    });
    const item = g.node("item", (text: string, context: AgentContext) => step(text, context));
    const all = g.each("all", item, { key: (text) => text, concurrency: 2 }, (results, context) => {
      context.storage.delete(found);
      return `${results.join(", ")}; ${context.llm.messages.map(({ content }) => JSON.stringify(content)).join("; ")}`;
    });
    g.edge(g.start, first);
    g.edge(first, both);
    g.edge(both, all, { map: (text: string) => [text, ...Array.from({ length: items - 1 }, (_, at) => `${at}`)] });
    g.edge(all, g.finish);
  });
  return { graph, options: { tools: [book, research], registry, maxIterations: 10_000 } };
}

describe.each(logStorages)("$name: pruning an agent with branches and sub-agents", (storage) => {
  it("does not change how a run continues after a crash at any append", async () => {
    const run = async (saves: number, isPruned: boolean) => {
      const world = new World();
      const { graph, options } = forking(world);
      const opened = await storage.open();
      const crashed = durableAgent(graph, crashAfter(opened(), saves), options);
      const isOver = await crashed.run("go", { runId: "r" }).then(() => true, falseIfCrash);
      const before = world.nodes.length;
      const agent = () => durableAgent(graph, opened(), options);
      const { failed } = await persistence(agent()).prune(isPruned ? { policy: { maxCheckpoints: 2 } } : {});
      expect(failed).toEqual([]);
      const result = await agent().run("go", { runId: "r" });
      return { result, items: world.items, isOver, again: world.nodes.length - before };
    };
    for (let saves = 0, isOver = false; !isOver; saves += every(3, 1)) {
      const wanted = await run(saves, false);
      expect(await run(saves, true), `after ${saves} appends`).toEqual(wanted);
      ({ isOver } = wanted);
    }
  });

  it("thins the other lines while one waits, and the run continues", async () => {
    const world = new World();
    const { graph, options } = forking(world, { asks: true });
    const opened = await storage.open();
    const agent = () => durableAgent(graph, opened(), options);
    const asked = await agent().run("go");
    if (asked.status !== "waiting") throw new TypeError("It did not wait.");
    const before = (await checkpointsOf(agent())).length;
    const { pruned } = await persistence(agent()).prune({ policy: { maxCheckpointsPaused: 2 } });
    expect(pruned).toHaveLength(1);
    const left = await checkpointsOf(agent());
    expect(left.length).toBeLessThan(before);
    expect(left.map(({ nodeId, status }) => [nodeId, status])).toContainEqual(["finish", "completed"]);
    await persistence(agent())
      .agent()
      .answer(asked.requests[0]?.requestId ?? "", "yes");
    const nodes = world.nodes.length;
    expect(await agent().resume()).toMatchObject({ status: "completed" });
    expect(world.nodes.slice(nodes)).not.toContain("go first one");
  });

  it("at the end of a run that failed in a branch keeps the data for a resume", async () => {
    const run = async (retention: RetentionPolicy | undefined) => {
      const world = new World();
      const { graph, options } = forking(world, { failures: 2 });
      const opened = await storage.open();
      const agent = durableAgent(graph, opened(), { ...options, ...(retention && { retention }) });
      for (let failure = 0; failure < 2; failure++)
        await expect(failure === 0 ? agent.run("go", { runId: "r" }) : agent.resume()).rejects.toThrow("not yet");
      const failed = await checkpointsOf(agent);
      const result = await agent.resume();
      return { left: failed.length, outcome: [result, world.items, world.nodes] };
    };
    const [pruned, whole] = [await run({ maxCheckpoints: 2 }), await run(undefined)];
    expect(pruned.left).toBeLessThan(whole.left);
    expect(pruned.outcome).toEqual(whole.outcome);
  });

  it("leaves at most 20 checkpoints of any number of items, and rollbacks revert the same calls", async () => {
    const run = async (isPruned: boolean) => {
      const world = new World();
      const { graph, options } = forking(world, { items: 60 });
      const opened = await storage.open();
      const agent = () => durableAgent(graph, opened(), options);
      const done = await agent().run("go", { runId: "r" });
      const before = await checkpointsOf(agent());
      if (isPruned) await persistence(agent()).prune();
      const left = await checkpointsOf(agent());
      expect(await agent().run("go", { runId: "r" })).toEqual(done);
      const fork = before.find(({ nodeId }) => nodeId === "both")?.checkpointId ?? "";
      const report = await persistence(agent()).agent().rollbackToCheckpoint(fork);
      return { left, report, items: world.items };
    };
    const [pruned, whole] = [await run(true), await run(false)];
    expect(whole.left.length).toBeGreaterThan(120);
    expect(pruned.left.length).toBeLessThanOrEqual(20);
    expect(pruned.left.every(({ branch }) => branch === undefined)).toBe(true);
    expect(pruned.report).toEqual(whole.report);
    expect(pruned.report.reverted.length).toBeGreaterThan(60);
    expect(pruned.items).toEqual(whole.items);
    expect(pruned.items).toEqual(["go first"]);
  });
});
