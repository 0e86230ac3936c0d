import {
  persistence,
  RollbackToolRegistry,
  type RunPersistence,
  strategy,
  tool,
  type AnyTool,
  callModel,
  callTools,
  hasToolCalls,
  type Message,
  type Migration,
  textOf,
  type ToolMessage,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const migrations = [{ from: 0, to: 1, nodes: { work: "task" }, tools: { pay: "payOut" } }];

function payTool(
  world: World,
  name: string,
  needsApproval = false,
  onCall: () => void = () => {},
): AnyTool & { readonly name: string } {
  return tool({
    name,
    description: "Pays.",
    inputSchema: z.object({ item: z.string() }),
    needsApproval,
    execute: ({ item }, options) => {
      const made = world.add(item, options, name);
      onCall();
      return made;
    },
  });
}

function looping(version: number) {
  return strategy<string, string>("loop", { version }, (graph) => {
    const model = graph.node("model", callModel);
    const tools = graph.node("tools", callTools);
    graph.edge(graph.start, model);
    graph.edge(model, tools, { when: hasToolCalls });
    graph.edge(model, graph.finish, { map: textOf });
    graph.edge(tools, model);
  });
}

/** Restores the messages before the first call. */
async function goBack(bound: Pick<RunPersistence, "getCheckpoints" | "rollbackToCheckpoint">) {
  const target = (await bound.getCheckpoints()).find(({ nodeId }) => nodeId === "tools");
  return bound.rollbackToCheckpoint(target?.checkpointId ?? "", { rollbackStrategy: "message_history_only" });
}

/** The names of the tools in a message. */
function namesIn({ content }: Message): readonly string[] {
  return typeof content === "string" ? [] : content.flatMap((part) => ("toolName" in part ? part.toolName : []));
}

describe.each(logStorages)("$name: a renamed tool", (storage) => {
  it.each([
    ["a node", false],
    ["a branch", true],
  ])(
    "keeps the id of a call by the code of %s that awaits approval, and the answer counts",
    async (_place, inBranch) => {
      const opened = await storage.open();
      const world = new World();
      const graph = (version: number, node: string, pay: AnyTool) =>
        strategy<string, string>("s", { version }, (g) => {
          const work = g.node(node, async (text: string, { tools }) => {
            await tools.call(pay as never, { item: text } as never);
            return text;
          });
          const other = g.node("other", (text: string) => text);
          const next = inBranch ? g.parallel("both", { work, other }, ({ work: done }) => done) : work;
          g.edge(g.start, next);
          g.edge(next, g.finish);
        });
      const old = payTool(world, "pay", true);
      const before = durableAgent(graph(0, "work", old), opened(), { tools: [old] });
      expect(await before.run("rent")).toMatchObject({ status: "waiting" });
      const now = payTool(world, "payOut", true);
      const after = () => durableAgent(graph(1, "task", now), opened(), { tools: [now], migrations });
      const [request] = await persistence(after()).agent("a").getRequests();
      await persistence(after())
        .agent("a")
        .answer(request?.requestId ?? "", { approved: true });
      expect(await after().resume()).toMatchObject({ status: "completed", output: "rent" });
      expect(world.done).toEqual(["payOut rent"]);
      expect(request).toMatchObject({ kind: "approval", toolCallId: world.executed[0] });
    },
  );

  it.each(["an edit", "a set execution point"])(
    "is offered under its new name after %s by the new code",
    async (move) => {
      const opened = await storage.open();
      const world = new World();
      const old = payTool(world, "pay");
      const fault = new Fault();
      const failing = { execute: async () => fault.strike() } as never;
      await fault.stops(durableAgent(looping(0), opened(), { tools: [old], model: failing }).run("go"));
      const now = payTool(world, "payOut");
      const offered: string[] = [];
      const model = {
        execute: async ({ tools }: { readonly tools: readonly { readonly name: string }[] }) => {
          offered.push(...tools.map(({ name }) => name));
          return { message: { role: "assistant", content: "paid" } };
        },
      } as never;
      const options = { tools: [now], model, migrations: [{ from: 0, to: 1, tools: { pay: "payOut" } }] };
      const after = durableAgent(looping(1), opened(), options);
      const outside = persistence(after).agent("a");
      const [start] = await outside.getCheckpoints();
      if (move === "an edit") await outside.editCheckpoint(start?.checkpointId ?? "", { by: "p", reason: "r" });
      else await outside.setExecutionPoint({ nodeId: "model", input: "again" });
      expect(await after.resume()).toMatchObject({ status: "completed", output: "paid" });
      expect(offered).toEqual(["payOut"]);
    },
  );

  it.each(["in the run", "from outside"])(
    "has its new name in messages from before the migration after a rollback of messages only %s",
    async (place) => {
      const opened = await storage.open();
      const world = new World();
      const swapped = { a: "b", b: "a" };
      const fault = new Fault();
      const calls = { toolCalls: [{ toolName: "a", input: { item: "x" } }] };
      const seen: unknown[] = [];
      let isRolledBack = false;
      const talking = (version: number) =>
        strategy<string, string>("s", { version }, (graph) => {
          const model = graph.node("model", callModel);
          const tools = graph.node("tools", callTools);
          const last = graph.node("last", async (_message: ToolMessage, context) => {
            fault.strike();
            if (place === "in the run" && !isRolledBack) {
              isRolledBack = true;
              return goBack(persistence(context)) as never;
            }
            seen.push(...context.llm.messages.flatMap(namesIn));
            return "done";
          });
          graph.edge(graph.start, model);
          graph.edge(model, tools, { when: hasToolCalls });
          graph.edge(tools, last);
          graph.edge(last, graph.finish);
        });
      const agent = (version: number, migrations: readonly Migration[] = []) =>
        durableAgent(talking(version), opened(), {
          tools: [payTool(world, "a"), payTool(world, "b")],
          turns: [calls],
          migrations,
        });
      await fault.stops(agent(0).run("go"));
      fault.return();
      const after = () => agent(1, [{ from: 0, to: 1, tools: swapped }]);
      await fault.stops(after().resume());
      if (place === "from outside") await goBack(persistence(after()).agent("a"));
      await after().resume();
      expect(seen).toEqual(["b"]);
    },
  );

  it.each(["a resume", "a fork", "a fork of a migrated run"])(
    "is offered under its new name after %s, if a finished tool has offered the tool",
    async (way) => {
      const opened = await storage.open();
      const fault = new Fault();
      const seen: unknown[] = [];
      const model = {
        execute: async ({ tools, messages }: { tools: readonly { name: string }[]; messages: readonly Message[] }) => {
          seen.push(tools.map(({ name }) => name).join(), ...messages.flatMap(namesIn));
          fault.strike();
          return { message: { role: "assistant", content: "done" } };
        },
      } as never;
      const agent = (version: number, name: string) => {
        const pay = payTool(new World(), name);
        const choose = tool({
          name: "choose",
          description: "",
          inputSchema: z.object({}),
          execute: (_input, { context: { llm } }) => {
            llm.configure({ tools: [pay] });
            const call = { type: "tool-call", toolCallId: "c1", toolName: name, input: {} } as const;
            llm.append({ role: "assistant", content: [call] });
            llm.rewrite((messages) => [
              ...messages,
              { role: "tool", content: [{ ...call, type: "tool-result", output: 1 }] },
            ]);
          },
        });
        const graph = strategy<string, string>("s", { version }, (g) => {
          const work = g.node("work", async (_text: string, { tools, llm }) => {
            await tools.call(choose, {});
            return textOf(await llm.request());
          });
          g.edge(g.start, work);
          g.edge(work, g.finish);
        });
        const migrations = version === 0 ? [] : [{ from: 0, to: 1, tools: { pay: "payOut", payOut: "pay" } }];
        return durableAgent(graph, opened(), {
          tools: [pay, choose, payTool(new World(), name === "pay" ? "payOut" : "pay")],
          model,
          migrations,
        });
      };
      await fault.stops(agent(0, "pay").run("go"));
      const after = () => agent(1, "payOut");
      fault.return();
      if (way === "a fork of a migrated run") await fault.stops(after().resume());
      fault.repair();
      seen.splice(0);
      if (way !== "a resume") await persistence(after()).agent("a").fork("b");
      await after().resume({ agentId: way === "a resume" ? "a" : "b" });
      expect(seen).toEqual(["payOut", "payOut", "payOut"]);
    },
  );

  it.each([
    ["while another branch runs", "other"],
    ["before its merge has ended", "merge"],
    ["before its merge has ended, after a fork", "fork"],
    ["before its merge has ended, after a resume of a checkpoint", "checkpoint"],
  ])("has its new name in the settings and messages of a branch that finished %s", async (_when, stop) => {
    const opened = await storage.open();
    const fault = new Fault();
    const seen: unknown[] = [];
    const model = {
      execute: async ({ tools, messages }: { tools: readonly { name: string }[]; messages: readonly Message[] }) => {
        seen.push(...tools.map(({ name }) => name), ...messages.flatMap(namesIn));
        return { message: { role: "assistant", content: "done" } };
      },
    } as never;
    const agent = (version: number, names: readonly [string, string]) => {
      const tools = names.map((name) => payTool(new World(), name));
      const graph = strategy<string, Message>("s", { version }, (g) => {
        const chooses = g.node("chooses", async (_text: string, { llm }) => {
          llm.configure({ tools: tools.slice(0, 1) });
          const part = { type: "tool-call", toolCallId: "c1", toolName: names[0], input: {} } as const;
          llm.append({ role: "assistant", content: [part] });
          return { role: "assistant", content: [part] } satisfies Message;
        });
        const strikes = g.node("strikes", async (text: string) => {
          await new Promise(setImmediate);
          if (stop === "other") fault.strike();
          return text;
        });
        const both = g.parallel("both", { chooses, strikes }, ({ chooses: output }, { branches }) => {
          branches.chooses.adopt();
          if (stop !== "other") fault.strike();
          seen.push(...namesIn(output));
          return output;
        });
        const asks = g.node("asks", async (_output: Message, { llm }) => textOf(await llm.request()));
        g.edge(g.start, both);
        g.edge(both, asks);
        g.edge(asks, g.finish as never);
      });
      const migrations = version === 0 ? [] : [{ from: 0, to: 1, tools: { pay: "payOut", payOut: "pay" } }];
      return durableAgent(graph as never, opened(), { tools, model, migrations });
    };
    await fault.stops(agent(0, ["pay", "payOut"]).run("go"));
    const after = () => agent(1, ["payOut", "pay"]);
    let point = {};
    if (stop === "fork" || stop === "checkpoint") {
      fault.return();
      await fault.stops(after().resume());
      const { checkpointId } = (await persistence(after()).agent("a").getLatestCheckpoint()) ?? {};
      if (stop === "fork") await persistence(after()).agent("a").fork("b");
      else point = { checkpointId };
    }
    await after().resume({ agentId: stop === "fork" ? "b" : "a", ...point });
    expect(seen).toEqual(["payOut", "payOut", "payOut"]);
  });

  it("appears to the model under its new name while its call awaits approval", async () => {
    const opened = await storage.open();
    const world = new World();
    const old = payTool(world, "pay", true);
    const asking = {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c1", toolName: "pay", input: { item: "rent" } }],
    };
    const seen: unknown[] = [];
    const model = {
      execute: async ({
        messages,
        tools,
      }: {
        messages: readonly { role: string }[];
        tools: readonly { name: string }[];
      }) => {
        seen.push([tools.map(({ name }) => name), messages]);
        return {
          message: messages.some(({ role }) => role === "tool") ? { role: "assistant", content: "paid" } : asking,
        };
      },
    } as never;
    const before = durableAgent(looping(0), opened(), { tools: [old], model });
    expect(await before.run("pay the rent")).toMatchObject({ status: "waiting" });
    const now = payTool(world, "payOut", true);
    const after = () =>
      durableAgent(looping(1), opened(), {
        tools: [now],
        model,
        migrations: [{ from: 0, to: 1, tools: { pay: "payOut" } }],
      });
    // It changes nothing that the request shows the old name until the run has been migrated.
    const [request] = await persistence(after()).agent("a").getRequests();
    await persistence(after())
      .agent("a")
      .answer(request?.requestId ?? "", { approved: true });
    expect(await after().resume()).toMatchObject({ status: "completed", output: "paid" });
    expect(world.done).toEqual(["payOut rent"]);
    expect(JSON.stringify(seen.at(-1))).not.toContain('"pay"');
    expect(JSON.stringify(seen.at(-1))).toContain('"payOut"');
  });

  it.each([0, 1])("finds the inverse under the new name in a rollback (run migrated: %i)", async (resumed) => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    const graph = (version: number, pay: AnyTool) =>
      strategy<string, string>("s", { version }, (g) => {
        const work = g.node("work", async (text: string, { tools }) => {
          await tools.call(pay as never, { item: text } as never);
          return text;
        });
        const end = g.node("end", (text: string) => (fault.strike(), text));
        g.edge(g.start, work);
        g.edge(work, end);
        g.edge(end, g.finish);
      });
    const old = payTool(world, "pay");
    await expect(durableAgent(graph(0, old), opened(), { tools: [old] }).run("rent")).rejects.toThrow("stopped");
    const now = payTool(world, "payOut");
    const registry = new RollbackToolRegistry().registerRollback(now as never, (input: unknown, { toolCallId }) =>
      world.remove(toolCallId, (input as { readonly item: string }).item),
    );
    const after = () =>
      durableAgent(graph(1, now), opened(), {
        tools: [now],
        registry,
        migrations: [{ from: 0, to: 1, tools: { pay: "payOut" } }],
      });
    if (resumed) await expect(after().resume()).rejects.toThrow("stopped");
    const outside = persistence(after()).agent("a");
    const [first] = await outside.getCheckpoints();
    const report = await outside.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(report.reverted).toMatchObject([{ toolName: "payOut" }]);
    expect(world.items).toEqual([]);
    fault.repair();
    expect(await after().resume()).toMatchObject({ status: "completed" });
    expect(world.items).toEqual(["rent"]);
  });

  it("has its new name for a call in doubt and an inverse in doubt", async () => {
    const opened = await storage.open();
    const world = new World();
    const stop = new AbortController();
    const graph = (version: number, pay: AnyTool) =>
      strategy<string, string>("s", { version }, (g) => {
        const work = g.node("work", async (text: string, { tools }) => {
          await tools.call(pay as never, { item: text } as never);
          return text;
        });
        g.edge(g.start, work);
        g.edge(work, g.finish);
      });
    const hanging = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ item: z.string() }),
      execute: (_input, { abortSignal }) =>
        new Promise<never>((_resolve, reject) => {
          abortSignal.addEventListener("abort", () => reject(new Error("aborted")));
          stop.abort();
        }),
    });
    const before = durableAgent(graph(0, hanging), opened(), { tools: [hanging] });
    await expect(before.run("rent", { signal: stop.signal })).rejects.toMatchObject({ name: "AbortError" });
    const now = payTool(world, "payOut");
    const after = () =>
      durableAgent(graph(1, now), opened(), {
        tools: [now],
        migrations: [{ from: 0, to: 1, tools: { pay: "payOut" } }],
      });
    const [doubt] = await persistence(after()).agent("a").getToolCallsInDoubt();
    expect(doubt).toMatchObject({ toolName: "payOut", input: { item: "rent" } });
    await expect(after().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
    await persistence(after())
      .agent("a")
      .settleToolCall(doubt?.toolCallId ?? "", "retry");
    expect(await after().resume()).toMatchObject({ status: "completed" });
    expect(world.executed).toEqual([doubt?.toolCallId]);
  });
});
