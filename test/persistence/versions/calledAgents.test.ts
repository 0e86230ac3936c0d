import {
  AIAgent,
  type AnyTool,
  Persistence,
  persistence,
  type PersistenceConfig,
  type PersistenceEvent,
  RollbackToolRegistry,
  strategy,
  tool,
  type ToolCallOptions,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentTool } from "../support/calledAgents.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const topic = z.object({ topic: z.string() });

/** An agent as a tool of its name: it has one node. */
function asking(
  name: string,
  {
    version = 0,
    node,
    tools,
  }: { readonly version?: number; readonly node: string; readonly tools: readonly AnyTool[] },
  body: (text: string, call: (to: AnyTool, input: object) => Promise<unknown>) => Promise<string>,
  config: Partial<PersistenceConfig> = {},
): AgentTool {
  const graph = strategy<string, string>(name, { version }, (g) => {
    const only = g.node(node, (text: string, context) =>
      body(text, (to, input) => context.tools.call(to as never, input as never)),
    );
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  const agent = new AIAgent({ llmModel: name, promptExecutor: scriptedModel([]), strategy: graph, tools });
  agent.install(Persistence, config as PersistenceConfig);
  return agent.asTool({ name, description: "", inputSchema: topic, input: ({ topic: text }) => text });
}

/** Waits until a run stops at a fault of a called agent, and repairs it. */
async function stops(fault: Fault, run: Promise<unknown>): Promise<void> {
  await expect(run).rejects.toThrow("stopped");
  fault.repair();
}

/** The agent "a", which calls another one. */
function calling(ask: AgentTool, storage: LogPersistenceStorageProvider, onEvent?: (event: PersistenceEvent) => void) {
  const graph = strategy<string, string>("outer", (g) => {
    const go = g.node("go", (text: string, { tools }) => tools.call(ask, { topic: text }));
    g.edge(g.start, go);
    g.edge(go, g.finish);
  });
  return durableAgent(graph, storage, { tools: [ask], ...(onEvent && { onEvent }) });
}

interface Version {
  readonly version: number;
  readonly node: string;
  readonly pay: string;
}
const first: Version = { version: 0, node: "work", pay: "pay" };
const second: Version = { version: 1, node: "task", pay: "payOut" };
const migrations = [{ from: 0, to: 1, nodes: { work: "task" }, tools: { pay: "payOut" } }];

describe.each(logStorages)("$name: an agent that contains itself", (storage) => {
  /** It calls itself until it is three deep, and stops there while there is a fault. */
  function counting(
    { version, node }: Version,
    fault: Fault,
    config: Partial<PersistenceConfig> = {},
    tools: readonly AnyTool[] = [],
  ): AgentTool {
    // It cannot be among its own tools: its code calls it.
    const itself: AgentTool = asking(
      "count",
      { version, node, tools },
      async (text, call) => {
        if (text.length < 3) return (await call(itself, { topic: `${text}!` })) as string;
        fault.strike();
        return text;
      },
      config,
    );
    return itself;
  }
  async function stopped() {
    const opened = await storage.open();
    const fault = new Fault();
    await stops(fault, calling(counting(first, fault), opened()).run("x"));
    return { opened, fault };
  }

  it("continues with unchanged or extended code, but not with a renamed node of an open line", async () => {
    const { opened, fault } = await stopped();
    const before = await recordsOf(opened());
    const renamed = calling(counting({ ...first, node: "task" }, fault), opened());
    await expect(renamed.resume()).rejects.toMatchObject({
      code: "strategy_changed",
      agentPath: ["count"],
      differences: expect.arrayContaining(['node "work" is gone', 'node "task" is new']) as unknown,
    });
    expect(await recordsOf(opened())).toEqual(before);
    fault.return();
    const told: string[] = [];
    const same = calling(counting(first, fault), opened(), ({ type }) => void told.push(type));
    await stops(fault, same.resume());
    expect(told).not.toContain("strategy_adapted");
    const look = tool({ name: "look", description: "", inputSchema: z.object({}), execute: () => "" });
    const more = calling(counting(first, fault, {}, [look]), opened(), ({ type }) => void told.push(type));
    expect(await more.resume()).toMatchObject({ output: "x!!" });
    expect(told).toContain("strategy_adapted");
  });

  it("migrates each open line by the migrations of its definition", async () => {
    const { opened, fault } = await stopped();
    const told: string[] = [];
    const tell = (event: PersistenceEvent) =>
      void (event.type === "run_migrated" && told.push(event.agentPath?.join("/") ?? ""));
    const agent = () =>
      calling(counting(second, fault, { migrations: [{ from: 0, to: 1, nodes: { work: "task" } }] }), opened(), tell);
    const verdicts: string[] = [];
    for await (const { verdict } of persistence(agent()).checkMigrations()) verdicts.push(verdict);
    expect(verdicts).toEqual(["migrates"]);
    expect(await agent().resume()).toMatchObject({ output: "x!!" });
    expect(told).toEqual(["count", "count/count", "count/count/count"]);
  });
});

describe.each(logStorages)("$name: a renamed tool of a called agent", (storage) => {
  function paying(code: Version, world: World, { fault, approval = false }: { fault?: Fault; approval?: boolean }) {
    const pay = tool({
      name: code.pay,
      description: "Pays.",
      inputSchema: z.object({ item: z.string() }),
      needsApproval: approval,
      execute: ({ item }, options: ToolCallOptions) => world.add(item, options, code.pay),
    });
    const registry = new RollbackToolRegistry().registerRollback(pay, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    const body = async (text: string, call: (to: AnyTool, input: object) => Promise<unknown>) => {
      await call(pay, { item: text });
      fault?.strike();
      return text;
    };
    const config = { rollbackToolRegistry: registry, ...(code.version > 0 && { migrations }) };
    return asking("ask", { ...code, tools: [pay] }, body, config);
  }

  it("keeps the id of its call that awaits approval, and the answer counts", async () => {
    const opened = await storage.open();
    const world = new World();
    const agent = (code: Version) => calling(paying(code, world, { approval: true }), opened());
    expect(await agent(first).run("rent")).toMatchObject({ status: "waiting" });
    const outside = persistence(agent(second)).agent("a");
    const [request] = await outside.getRequests();
    await outside.answer(request?.requestId ?? "", { approved: true });
    expect(await agent(second).resume()).toMatchObject({ status: "completed", output: "rent" });
    expect(world.done).toEqual(["payOut rent"]);
    expect(world.executed).toHaveLength(1);
    expect(request).toMatchObject({ kind: "approval", toolCallId: world.executed[0] });
  });

  it.each([false, true])("finds the inverse under the new name in a rollback (run migrated: %s)", async (migrated) => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    const agent = (code: Version) => calling(paying(code, world, { fault }), opened());
    await stops(fault, agent(first).run("rent"));
    fault.return();
    if (migrated) await stops(fault, agent(second).resume());
    const outside = persistence(agent(second)).agent("a");
    const [checkpoint] = await outside.getCheckpoints();
    const report = await outside.rollbackToCheckpoint(checkpoint?.checkpointId ?? "");
    expect(report.reverted).toMatchObject([{ toolName: "payOut" }]);
    expect(world.done).toEqual(["pay rent", "undo rent"]);
    fault.repair();
    expect(await agent(second).resume()).toMatchObject({ status: "completed" });
    expect(world.items).toEqual(["rent"]);
  });
});

describe.each(logStorages)("$name: the caller of a stopped agent", (storage) => {
  const nodes = ["before", "go", "after"] as const;
  function around(names: readonly string[], fault: Fault, opened: LogPersistenceStorageProvider, told: string[] = []) {
    const ask = asking("ask", { node: "work", tools: [] }, async (text) => {
      fault.strike();
      return text;
    });
    const graph = strategy<string, string>("outer", (g) => {
      const [before = "", go = "", after = ""] = names;
      const first = g.node(before, (text: string) => text);
      const call = g.node(go, (text: string, { tools }) => tools.call(ask, { topic: text }));
      const last = g.node(after, (text: string) => text);
      g.edge(g.start, first);
      g.edge(first, call);
      g.edge(call, last);
      g.edge(last, g.finish);
    });
    return durableAgent(graph, opened, { tools: [ask], onEvent: ({ type }) => void told.push(type) });
  }

  it("continues after a rename of an earlier node, and records the new structure", async () => {
    const opened = (await storage.open())();
    const fault = new Fault();
    await stops(fault, around(nodes, fault, opened).run("x"));
    const told: string[] = [];
    const renamed = ["first", "go", "after"];
    for (const times of [1, 1]) {
      fault.return();
      await stops(fault, around(renamed, fault, opened, told).resume());
      expect(told.filter((kind) => kind === "strategy_adapted")).toHaveLength(times);
    }
    expect(await around(renamed, fault, opened).resume()).toMatchObject({ output: "x" });
  });

  it.each([1, 2])("is refused after a rename of the calling or a later node (%i)", async (at) => {
    const opened = (await storage.open())();
    const fault = new Fault();
    await stops(fault, around(nodes, fault, opened).run("x"));
    const before = await recordsOf(opened);
    const names = nodes.map((name, place) => (place === at ? "other" : name));
    await expect(around(names, fault, opened).resume()).rejects.toMatchObject({
      code: "strategy_changed",
      differences: expect.arrayContaining([`node "${nodes[at]}" is gone`, 'node "other" is new']) as unknown,
    });
    expect(await recordsOf(opened)).toEqual(before);
  });
});
