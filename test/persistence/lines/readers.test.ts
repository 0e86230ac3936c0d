import { type AgentContext, persistence, strategy, tool } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { headSnapshot } from "../../../src/checkpoint/data/headSnapshot.ts";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { durableAgent, Stopped } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const steps = 40;

/** Appends a snapshot of every open line. */
async function withSnapshot({ log }: LogPersistenceStorageProvider): Promise<void> {
  const { index } = await AgentLog.read(log, "a");
  const snapshot = headSnapshot(index);
  if (!snapshot) throw new TypeError("There can be no snapshot here.");
  const owned = await log.open("a", processOwner());
  await owned.append({ id: "snapshot", records: [snapshot] }, owned.position);
  await owned.release();
}

/** A branch of many steps, which interrupts the run at its end, and one that ends. */
function working(world: World, interrupt: () => void) {
  const book = world.adder("book");
  const spend = world.adder("spend", "irreversible");
  const built = strategy<string, string>("working", (graph) => {
    const first = graph.node("first", async (text: string, context: AgentContext) => {
      await context.tools.call(book, { item: "first" });
      return text;
    });
    const many = graph.subgraph<string, string>("many", (inner) => {
      const nodes = Array.from({ length: steps }, (_, at) =>
        inner.node(`s${at}`, (text: string, { llm }: AgentContext) => {
          llm.append({ role: "user", content: `${at} `.repeat(1_500) });
          return text;
        }),
      );
      for (const [at, node] of nodes.entries()) inner.edge(nodes[at - 1] ?? inner.start, node);
      const last = inner.node("last", async (text: string, { tools, signal }: AgentContext) => {
        await tools.call(spend, { item: "many" });
        interrupt();
        signal.throwIfAborted();
        return text;
      });
      inner.edge(nodes.at(-1) ?? inner.start, last);
      inner.edge(last, inner.finish);
    });
    const ends = graph.node("ends", async (text: string, { tools }: AgentContext) => {
      await tools.call(book, { item: "ends" });
      return text;
    });
    const all = graph.parallel("all", { many, ends }, (results) => `${results.many} ${results.ends}`);
    graph.edge(graph.start, first);
    graph.edge(first, all);
    graph.edge(all, graph.finish);
  });
  return { built, tools: [book, spend] };
}

describe.each(logStorages)("$name: readers of a long log with open lines", (storage) => {
  const stopped = async () => {
    const opened = await storage.open();
    const world = new World();
    const stop = new AbortController();
    const { built, tools } = working(world, () => stop.abort(new Stopped()));
    const agent = () => durableAgent(built, opened(), { tools });
    await expect(agent().run("go", { runId: "r", signal: stop.signal })).rejects.toBeInstanceOf(Stopped);
    return { agent, opened, of: persistence(agent()).agent("a") };
  };

  it("find the same latest checkpoint from a snapshot and from the start of the log", async () => {
    const { agent, of, opened } = await stopped();
    const plain = async () => {
      const whole = (await of.getCheckpoints()).filter(({ branch }) => branch === undefined).at(-1);
      return [structuredClone({ ...whole }), structuredClone({ ...(await of.getLatestCheckpoint()) })] as const;
    };
    const [before, latest] = await plain();
    expect(latest).toEqual(before);
    expect(latest.branches?.map(({ path, messageHistory }) => [path, messageHistory.length])).toEqual([
      ["all#many", steps],
      ["all#ends", 0],
    ]);
    await withSnapshot(opened());
    const [again, fromSnapshot] = await plain();
    expect([again, fromSnapshot]).toEqual([before, before]);
    await expect(agent().resume()).resolves.toMatchObject({ output: "go go" });
  });

  it("learn which effects of open branches remain after a resume from an older checkpoint", async () => {
    const { agent, of } = await stopped();
    const [first] = await of.getCheckpoints();
    const result = await agent().resume({ checkpointId: first?.checkpointId ?? "" });
    expect(result).toMatchObject({ status: "completed", output: "go go" });
    const { effects } = result as { readonly effects?: { readonly remaining: readonly { readonly input: unknown }[] } };
    expect(effects?.remaining.map(({ input }) => (input as { readonly item: string }).item).toSorted()).toEqual([
      "ends",
      "first",
      "many",
    ]);
  });

  it("list tasks and their names per agent", async () => {
    const { agent, of } = await stopped();
    const listed = [];
    for await (const summary of persistence(agent()).unfinished()) listed.push(summary);
    expect(listed).toMatchObject([{ agentId: "a", status: "interrupted" }]);
    expect(await of.getTaskName()).toBeUndefined();
  });
});

describe.each(logStorages)("$name: calls in doubt on several lines", (storage) => {
  it("are listed and settled, whichever branch made them", async () => {
    const opened = await storage.open();
    const world = new World();
    const stop = new AbortController();
    const pay = tool({
      name: "pay",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "irreversible",
      execute: async ({ item }, options) => {
        world.add(item, options, "pay");
        const { abortSignal } = options;
        const aborted = new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
        if (world.executed.length === 2) stop.abort(new Stopped());
        await aborted;
        abortSignal.throwIfAborted();
      },
    });
    const paying =
      (name: string) =>
      async (_text: string, { tools }: AgentContext) =>
        JSON.stringify(await tools.call(pay, { item: name }));
    const built = strategy<string, string>("paying", (graph) => {
      const both = graph.parallel(
        "both",
        { a: graph.node("a", paying("a")), b: graph.node("b", paying("b")) },
        (results) => [results.a, results.b].join(),
      );
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const agent = () => durableAgent(built, opened(), { tools: [pay] });
    await expect(agent().run("go", { signal: stop.signal })).rejects.toBeInstanceOf(Stopped);
    const outside = persistence(agent()).agent("a");
    const inDoubt = await outside.getToolCallsInDoubt();
    expect(inDoubt.map(({ nodeId, toolName }) => [nodeId, toolName])).toEqual([
      ["a", "pay"],
      ["b", "pay"],
    ]);
    await expect(agent().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
    for (const { toolCallId, nodeId } of inDoubt)
      await outside.settleToolCall(toolCallId, { output: `paid ${nodeId}` });
    expect(await outside.getToolCallsInDoubt()).toEqual([]);
    await expect(agent().resume()).resolves.toMatchObject({ output: '"paid a","paid b"' });
    expect(world.executed).toHaveLength(2);
  });
});
