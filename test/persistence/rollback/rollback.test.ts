import {
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
  type AgentContext,
  type RollbackReport,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf, latestOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const attempts = storageKey("attempts", z.number());

/** A world whose bookings can be reverted, by their id. */
function revertible() {
  const world = new World();
  const book = world.adder("book");
  const registry = new RollbackToolRegistry().registerRollback(book, (_input, { toolCallId, output }) =>
    world.remove(toolCallId, output.made),
  );
  return { world, book, registry };
}

/** Books one item in each of three nodes; what the last does then is the test's. */
function threeBookings(
  { book }: ReturnType<typeof revertible>,
  last: (context: AgentContext) => Promise<string | RollbackReport>,
) {
  return strategy<string, string>("s", (g) => {
    const node = (name: string) =>
      g.node(name, async (input: string, context: AgentContext) => {
        await context.tools.call(book, { item: name });
        context.llm.append({ role: "user", content: name });
        context.storage.set(attempts, (context.storage.get(attempts) ?? 0) + 1);
        await persistence(context)
          .createCheckpoint({
            nodeId: "end",
            lastInput: "",
            checkpointId: `${context.nodeId} ${context.llm.messages.length}`,
          })
          .catch(() => undefined);
        return input;
      });
    const [one, two, three] = [node("one"), node("two"), node("three")];
    const end = g.node("end", (_input: string, context) => last(context));
    g.edge(g.start, one);
    g.edge(one, two);
    g.edge(two, three);
    g.edge(three, end);
    g.edge(end, g.finish);
  });
}

describe.each(storages)("$name: a rollback", (storage) => {
  it("inside a node reverts later work, newest first, and restores the state", async () => {
    const opened = await storage.open();
    const parts = revertible();
    const reports: RollbackReport[] = [];
    const graph = threeBookings(parts, async (context) => {
      if (reports.length > 0) return "end";
      const target = (await persistence(context).getCheckpoints()).find(({ nodeId }) => nodeId === "two");
      const report = await persistence(context).rollbackToCheckpoint(target?.checkpointId ?? "");
      reports.push(report);
      await expect(context.tools.call(parts.book, { item: "closed" })).rejects.toMatchObject({ code: "run_moved" });
      return report;
    });
    const agent = durableAgent(graph, opened(), { tools: [parts.book], registry: parts.registry });
    expect(await agent.run("go")).toMatchObject({ output: "end" });
    expect(parts.world.done).toEqual([
      "book one",
      "book two",
      "book three",
      "undo three",
      "undo two",
      "book two",
      "book three",
    ]);
    expect(new Set(parts.world.executed).size).toBe(5);
    expect(reports[0]?.reverted.map(({ input, output }) => [input, output])).toEqual([
      [{ item: "three" }, { made: "three" }],
      [{ item: "two" }, { made: "two" }],
    ]);
    expect(await latestOf(agent)).toMatchObject({
      iteration: 4,
      storage: { attempts: 3 },
      messageHistory: [{ content: "one" }, { content: "two" }, { content: "three" }],
    });
    const [moved] = (await checkpointsOf(agent)).filter(({ revertedToolCallIds }) => revertedToolCallIds);
    const target = (await checkpointsOf(agent)).find(({ nodeId }) => nodeId === "two");
    expect(moved).toMatchObject({
      nodeId: "two",
      parentId: target?.checkpointId,
      iteration: 1,
      storage: { attempts: 1 },
    });
  });

  it("from outside waits for a resume, and a second rollback repeats no inverse", async () => {
    const opened = await storage.open();
    const parts = revertible();
    const fault = new Fault();
    const graph = threeBookings(parts, async () => {
      fault.strike();
      return "end";
    });
    const agent = durableAgent(graph, opened(), { tools: [parts.book], registry: parts.registry });
    await expect(agent.run("go")).rejects.toBeInstanceOf(Stopped);
    const outside = persistence(agent).agent();
    const checkpoints = await checkpointsOf(agent);
    const idOf = (node: string) => checkpoints.find(({ nodeId }) => nodeId === node)?.checkpointId ?? "";
    const first = await outside.rollbackToCheckpoint(idOf("three"));
    const second = await outside.rollbackToCheckpoint(idOf("one"));
    expect([first, second].map(({ reverted }) => reverted.map(({ input }) => input))).toEqual([
      [{ item: "three" }],
      [{ item: "two" }, { item: "one" }],
    ]);
    expect(parts.world.done.slice(3)).toEqual(["undo three", "undo two", "undo one"]);
    expect((await outside.rollbackToLatestCheckpoint()).reverted).toEqual([]);
    fault.repair();
    expect(await agent.resume()).toMatchObject({ output: "end" });
    expect(parts.world.items).toEqual(["one", "three", "two"]);
    expect(parts.world.done).toHaveLength(9);
  });

  it("removes the recorded outputs of finished runs that it crosses", async () => {
    const opened = await storage.open();
    const parts = revertible();
    const graph = threeBookings(parts, async () => "end");
    const agent = durableAgent(graph, opened(), { tools: [parts.book], registry: parts.registry });
    await agent.run("first", { runId: "r1" });
    const tombstone = await latestOf(agent);
    await agent.run("second", { runId: "r2" });
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(tombstone.parentId ?? "");
    expect(parts.world.items).toEqual(["one", "three", "two"]);
    await expect(agent.run("second", { runId: "r2" })).rejects.toMatchObject({ code: "unfinished_run", runId: "r1" });
    expect(await agent.resume()).toMatchObject({ runId: "r1", output: "end" });
    expect(await agent.run("second", { runId: "r2" })).toMatchObject({ runId: "r2" });
    expect(parts.world.items).toHaveLength(6);
  });

  it("leaves a checkpoint from which a resume can branch without repeating earlier work", async () => {
    const opened = await storage.open();
    const parts = revertible();
    const graph = threeBookings(parts, async () => "end");
    const agent = durableAgent(graph, opened(), { tools: [parts.book], registry: parts.registry });
    await agent.run("go", { runId: "r1" });
    const checkpoints = await checkpointsOf(agent);
    const left = checkpoints.findLast(({ nodeId }) => nodeId === "three")?.checkpointId ?? "";
    const first = checkpoints[0]?.checkpointId ?? "";
    await persistence(agent).agent().rollbackToCheckpoint(first);
    const done = [...parts.world.done];
    const branch = await agent.resume({ checkpointId: left });
    expect(branch).toMatchObject({ output: "end", effects: { remaining: [] } });
    expect(parts.world.done).toEqual([...done, "book three"]);
  });

  it("of the messages alone keeps and reports every effect, and runs the node again", async () => {
    const opened = await storage.open();
    const parts = revertible();
    const seen: string[][] = [];
    const reports: RollbackReport[] = [];
    const graph = threeBookings(parts, async (context) => {
      seen.push(context.llm.messages.map(({ content }) => JSON.stringify(content)));
      if (reports.length > 0) return "end";
      const [first] = await persistence(context).getCheckpoints();
      const report = await persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "", {
        rollbackStrategy: "message_history_only",
      });
      reports.push(report);
      return report;
    });
    const agent = durableAgent(graph, opened(), { tools: [parts.book], registry: parts.registry });
    expect(await agent.run("go")).toMatchObject({ output: "end" });
    expect(seen).toEqual([['"one"', '"two"', '"three"'], []]);
    expect(parts.world.items).toEqual(["one", "three", "two"]);
    expect(reports[0]).toMatchObject({ reverted: [], failed: [], irreversible: [] });
    expect(reports[0]?.skipped.map(({ input }) => input)).toEqual([
      { item: "three" },
      { item: "two" },
      { item: "one" },
    ]);
    expect((await latestOf(agent)).storage).toEqual({ attempts: 3 });
  });
});

describe.each(logStorages)("$name: a rollback of calls", (storage) => {
  it("by a tool aborts the other calls, and lists the tool as skipped without waiting for it", async () => {
    const opened = await storage.open();
    const { world, book, registry } = revertible();
    const reports: RollbackReport[] = [];
    let target = "";
    const back = tool({
      name: "back",
      description: "",
      inputSchema: z.object({}),
      execute: async (_input, { context }) => {
        reports.push(await persistence(context).rollbackToCheckpoint(target));
        return "unheard";
      },
    });
    const slow = tool({
      name: "slow",
      description: "",
      inputSchema: z.object({}),
      execute: (_input, { abortSignal }) =>
        new Promise<string>((_resolve, reject) => abortSignal.addEventListener("abort", () => reject(new Stopped()))),
    });
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        target = (await persistence(context).getLatestCheckpoint())?.checkpointId ?? "";
        await context.tools.call(book, { item: "first" });
        return input;
      });
      const second = g.node("second", async (input: string, context: AgentContext) => {
        if (reports.length > 0) return "end";
        await context.tools.call(book, { item: "second" });
        await Promise.all([context.tools.call(slow, {}), context.tools.call(back, {})]);
        return input;
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish);
    });
    const onToolCallInDoubt = () => "unknown" as const;
    const agent = durableAgent(graph, opened(), { tools: [book, back, slow], registry, onToolCallInDoubt });
    expect(await agent.run("go")).toMatchObject({ output: "end" });
    expect(world.done).toEqual(["book first", "book second", "undo second", "undo first", "book first"]);
    const [report] = reports;
    expect(report?.skipped.map(({ toolName }) => toolName)).toEqual(["back"]);
    expect(report?.failed).toMatchObject([{ toolName: "slow", error: { code: "tool_call_in_doubt" } }]);
  });

  it("to a checkpoint between a model's response and its tool calls makes the calls again, under new ids in the history", async () => {
    const opened = await storage.open();
    const { world, book, registry } = revertible();
    const turns = [{ toolCalls: ["x", "y"].map((item) => ({ toolName: "book", input: { item } })) }, "done"];
    const agent = durableAgent(defaultLoop, opened(), { tools: [book], registry, turns });
    await agent.run("go");
    const before = await latestOf(agent);
    const between = (await checkpointsOf(agent)).find(({ nodeId }) => nodeId === "callTools");
    const report = await persistence(agent)
      .agent()
      .rollbackToCheckpoint(between?.checkpointId ?? "");
    expect(report.reverted.map(({ input }) => input)).toEqual([{ item: "y" }, { item: "x" }]);
    expect(await agent.resume()).toMatchObject({ output: "done" });
    expect(world.done).toEqual(["book x", "book y", "undo y", "undo x", "book x", "book y"]);
    expect(new Set(world.executed).size).toBe(4);
    const idsIn = (data: typeof before) => JSON.stringify(data.messageHistory).match(/(?<="toolCallId":")[^"]+/g);
    const after = await latestOf(agent);
    expect(idsIn(after)).toEqual([...world.executed.slice(2), ...world.executed.slice(2)]);
    expect(idsIn(before)).not.toEqual(idsIn(after));
  });

  it("reverts calls that the message history no longer shows", async () => {
    const opened = await storage.open();
    const { world, book, registry } = revertible();
    const forgetting = strategy<string, string>("s", (g) => {
      const loop = g.subgraph("loop", defaultLoop);
      const compress = g.node("compress", (input: string, context) => {
        context.llm.rewrite(() => [{ role: "user", content: "summary" }]);
        return input;
      });
      g.edge(g.start, loop);
      g.edge(loop, compress);
      g.edge(compress, g.finish);
    });
    const turns = [{ toolCalls: ["x", "y"].map((item) => ({ toolName: "book", input: { item } })) }, "done"];
    const agent = durableAgent(forgetting, opened(), { tools: [book], registry, turns });
    await agent.run("go");
    expect((await latestOf(agent)).messageHistory).toEqual([{ role: "user", content: "summary" }]);
    const [first] = await checkpointsOf(agent);
    await persistence(agent)
      .agent()
      .rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(world.done.slice(2)).toEqual(["undo y", "undo x"]);
    expect((await latestOf(agent)).messageHistory).toEqual([]);
  });
});
