import { persistence, strategy, type AgentContext } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { latestOf, recordsOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const contents = (context: AgentContext) => JSON.stringify(context.llm.messages.map(({ content }) => content));

describe.each(storages)("$name: setExecutionPoint inside a run", (storage) => {
  it("keeps the messages of the node it leaves, across a crash", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = strategy<string, string>("s", (g) => {
      const ask = g.node("ask", async (question: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: question });
        context.llm.append(await context.llm.request());
        return persistence(context).setExecutionPoint({ nodeId: "end", input: "" });
      });
      const end = g.node("end", (_input: string, context) => {
        fault.strike();
        return contents(context);
      });
      g.edge(g.start, ask);
      g.edge(ask, end);
      g.edge(end, g.finish);
    });
    const options = { turns: ["hello"] };
    await expect(durableAgent(graph, opened(), options).run("hi")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await durableAgent(graph, opened(), options).resume()).toMatchObject({ output: '["hi","hello"]' });
  });

  it("passes a response of the node it leaves to the next node, which may append it again", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = strategy<string, string>("s", (g) => {
      const ask = g.node("ask", async (question: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: question });
        return persistence(context).setExecutionPoint({ nodeId: "say", input: await context.llm.request() });
      });
      const say = g.node("say", (answer: Awaited<ReturnType<AgentContext["llm"]["request"]>>, context) => {
        context.llm.append(answer);
        return "said";
      });
      const end = g.node("end", (_input: string, context) => {
        fault.strike();
        return contents(context);
      });
      g.edge(g.start, ask);
      g.edge(ask, end);
      g.edge(say, end);
      g.edge(end, g.finish);
    });
    const options = { turns: ["hello"] };
    await expect(durableAgent(graph, opened(), options).run("hi")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await durableAgent(graph, opened(), options).resume()).toMatchObject({ output: '["hi","hello"]' });
  });

  it("replaces the history only if a history is given", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: "one" }, { role: "user", content: "two" });
        const [, two] = context.llm.messages;
        const messageHistory = [{ role: "user", content: "zero" } as const, ...(two ? [two] : [])];
        return persistence(context).setExecutionPoint({ nodeId: "end", input, messageHistory });
      });
      const end = g.node("end", (_input: string, context) => {
        fault.strike();
        return contents(context);
      });
      g.edge(g.start, first);
      g.edge(first, end);
      g.edge(end, g.finish);
    });
    await expect(durableAgent(graph, opened()).run("go")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await durableAgent(graph, opened()).resume()).toMatchObject({ output: '["zero","two"]' });
  });

  it("parses its input once if the schema changes the value", async () => {
    const opened = await storage.open();
    const seen: number[] = [];
    const length = z.string().transform((text) => text.length) as unknown as z.ZodType<number>;
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", (_input: string, context) =>
        persistence(context).setExecutionPoint({ nodeId: "count", input: "four" as unknown as number }),
      );
      const count = g.node("count", { input: length }, (size: number) => {
        seen.push(size);
        return String(size);
      });
      g.edge(g.start, first);
      g.edge(first, count);
      g.edge(count, g.finish);
    });
    expect(await durableAgent(graph, opened()).run("go")).toMatchObject({ output: "4" });
    expect(seen).toEqual([4]);
  });

  it("refuses an unknown node and an invalid input without changes, and lists the valid nodes", async () => {
    const opened = await storage.open();
    const refusals: unknown[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        const p = persistence(context);
        const before = await p.getCheckpoints();
        for (const wrong of [
          { nodeId: "nowhere", input },
          { nodeId: "typed", input: "x" },
          { nodeId: "first", input: (() => 1) as unknown },
        ])
          refusals.push(await p.setExecutionPoint(wrong).catch((error: unknown) => error));
        context.llm.append({ role: "user", content: "still here" });
        return (await p.getCheckpoints()).length - before.length;
      });
      const typed = g.node("typed", { input: z.number() }, (added: number) => String(added));
      g.edge(g.start, first);
      g.edge(first, typed);
      g.edge(typed, g.finish);
    });
    expect(await durableAgent(graph, opened()).run("go")).toMatchObject({ output: "0" });
    expect(refusals).toMatchObject([
      { code: "unknown_node", nodes: ["first", "typed"] },
      { code: "invalid_input", subject: 'input of node "typed"' },
      { code: "not_serializable" },
    ]);
  });

  it("refuses an input that the branches of a parallel node do not accept, as does createCheckpoint", async () => {
    const opened = await storage.open();
    const refusals: unknown[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (_input: string, context: AgentContext) => {
        const p = persistence(context);
        const refusal = (error: unknown) => void refusals.push(error);
        await p.setExecutionPoint({ nodeId: "all", input: [1, "x"] }).catch(refusal);
        await p.createCheckpoint({ nodeId: "both", lastInput: "x" }).catch(refusal);
        const { nodeId, lastInput } = await p.createCheckpoint({ nodeId: "all", lastInput: [1, 2] });
        return [nodeId, lastInput].join();
      });
      const typed = (name: string) => g.node(name, { input: z.number() }, (added: number) => added);
      const all = g.each("all", typed("item"), String);
      const both = g.parallel("both", { branch: typed("other") }, ({ branch }) => [branch]);
      g.edge(g.start, first);
      g.edge(first, g.finish, { when: () => true });
      g.edge(first, both, { map: Number });
      g.edge(both, all);
      g.edge(all, g.finish);
    });
    expect(await durableAgent(graph, opened()).run("go")).toMatchObject({ output: "all,1,2" });
    expect(refusals).toMatchObject([
      { code: "invalid_input", subject: 'input of node "all"', problems: [{ path: "1" }] },
      { code: "invalid_input", subject: 'input of node "both"', problems: [{ path: "" }] },
    ]);
  });
});

describe.each(logStorages)("$name: the record of an execution point", (storage) => {
  it("lists the calls whose effects remain, including calls replayed after a crash", async () => {
    const opened = await storage.open();
    const world = new World();
    const fault = new Fault();
    const [book, look] = [world.adder("book"), world.adder("look", "none")];
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (_input: string, context: AgentContext) => {
        await context.tools.call(look, { item: "seen" });
        await context.tools.call(book, { item: "booked" });
        fault.strike();
        return persistence(context).setExecutionPoint({ nodeId: "end", input: "" });
      });
      const end = g.node("end", (_input: string) => "end");
      g.edge(g.start, first);
      g.edge(first, end);
      g.edge(end, g.finish);
    });
    const tools = [book, look];
    await expect(durableAgent(graph, opened(), { tools }).run("go")).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    await durableAgent(graph, opened(), { tools }).resume();
    const [booked] = [...world.effects.values()].filter(({ tool }) => tool === "book");
    const points = (await recordsOf(opened())).filter((record) => "standing" in record);
    expect(points).toMatchObject([{ move: "execution_point", node: "end", standing: [booked?.toolCallId] }]);
    expect(world.done).toEqual(["look seen", "book booked"]);
  });
});

describe.each(storages)("$name: moves from outside", (storage) => {
  const failing = (fault: Fault) =>
    strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string, context) => {
        context.llm.append({ role: "user", content: input });
        context.setProgress(40, "part");
        return "second's";
      });
      const second = g.node("second", (_input: string, context) => {
        fault.strike();
        return contents(context);
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish);
    });

  it("set another node with its input, and keep history and progress", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const agent = durableAgent(failing(fault), opened());
    await expect(agent.run("one")).rejects.toBeInstanceOf(Stopped);
    const before = await latestOf(agent);
    await persistence(agent).agent().setExecutionPoint({ nodeId: "first", input: "two" });
    expect(await latestOf(agent)).toMatchObject({
      nodeId: "first",
      lastInput: "two",
      parentId: before.checkpointId,
      progress: 40,
      progressSummary: "part",
      messageHistory: [{ content: "one" }],
    });
    fault.repair();
    expect(await agent.resume()).toMatchObject({ output: '["one","two"]' });
  });

  it("replace the history if a history is given", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const agent = durableAgent(failing(fault), opened());
    await expect(agent.run("one")).rejects.toBeInstanceOf(Stopped);
    await persistence(agent)
      .agent()
      .setExecutionPoint({ nodeId: "second", input: "", messageHistory: [{ role: "user", content: "other" }] });
    fault.repair();
    expect(await agent.resume()).toMatchObject({ output: '["other"]' });
  });

  it("refuse invalid requests without changes", async () => {
    const opened = await storage.open();
    const agent = durableAgent(failing(new Fault()), opened());
    await expect(agent.run("one")).rejects.toBeInstanceOf(Stopped);
    const before = await persistence(agent).agent().getCheckpoints();
    const outside = persistence(agent).agent();
    await expect(outside.setExecutionPoint({ nodeId: "nowhere", input: "" })).rejects.toMatchObject({
      code: "unknown_node",
      nodes: ["first", "second"],
    });
    await expect(outside.rollbackToCheckpoint("nothing")).rejects.toMatchObject({
      code: "checkpoint_not_found",
      available: before.map(({ checkpointId }) => checkpointId),
    });
    expect(await outside.getCheckpoints()).toEqual(before);
  });

  it("that change only the messages keep an unmatched edge unresolved", async () => {
    const opened = await storage.open();
    const world = new World();
    const open = new Fault();
    const isOpen = () => {
      try {
        open.strike();
        return true;
      } catch {
        return false;
      }
    };
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", (input: string) => {
        world.nodes.push(input);
        return "out";
      });
      g.edge(g.start, only);
      g.edge(only, g.finish, { when: isOpen });
    });
    const agent = durableAgent(graph, opened());
    await expect(agent.run("in")).rejects.toMatchObject({ code: "no_matching_edge" });
    open.repair();
    const report = await persistence(agent)
      .agent()
      .rollbackToLatestCheckpoint({ rollbackStrategy: "message_history_only" });
    expect(report.reverted).toEqual([]);
    expect(await agent.resume()).toMatchObject({ output: "out" });
    expect(world.nodes).toEqual(["in"]);
  });
});

describe.each(logStorages)("$name: without automatic checkpoints", (storage) => {
  it("a move keeps the point from which the run continues", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    let moves = false;
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: input });
        context.llm.append(await context.llm.request());
        return input;
      });
      const second = g.node("second", async (input: string, context: AgentContext) =>
        moves ? persistence(context).setExecutionPoint({ nodeId: "end", input }) : input,
      );
      const end = g.node("end", (_input: string, context) => {
        if (moves) fault.strike();
        return contents(context);
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, end);
      g.edge(end, g.finish);
    });
    const build = (provider: LogPersistenceStorageProvider) =>
      durableAgent(graph, provider, { automatic: false, turns: ["a1", "a2"] });
    await build(opened()).run("q1");
    moves = true;
    await expect(build(opened()).run("q2", { history: "continue" })).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await build(opened()).resume()).toMatchObject({ output: '["q1","a1","q2","a2"]' });
  });
});

describe.each(storages)("$name: a move before the first checkpoint", (storage) => {
  /** Stops in its second node, which the first one moves to. */
  const moving = (fault: Fault, before?: Fault) =>
    strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string, context) => {
        before?.strike();
        return persistence(context).setExecutionPoint({ nodeId: "end", input });
      });
      const end = g.node("end", (_input: string, context) => {
        fault.strike();
        return contents(context);
      });
      g.edge(g.start, first);
      g.edge(first, end);
      g.edge(end, g.finish);
    });
  // Long enough to be stored beside the log.
  const systemPrompt = "Be brief. ".repeat(2_000);
  const output = JSON.stringify([systemPrompt]);
  const options = { automatic: false, systemPrompt, tools: [new World().adder("book")] };

  it("keeps the system prompt and the model settings", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = moving(fault);
    await fault.stops(durableAgent(graph, opened(), options).run("go"));
    const agent = durableAgent(graph, opened(), options);
    expect(await latestOf(agent)).toMatchObject({
      nodeId: "end",
      model: "scripted",
      tools: ["book"],
      messageHistory: [{ role: "system", content: systemPrompt }],
    });
    expect(await agent.resume()).toMatchObject({ output });
  });

  it("keeps the values that the previous process stored", async () => {
    const opened = await storage.open();
    const [before, fault] = [new Fault(), new Fault()];
    const graph = moving(fault, before);
    const start = () => durableAgent(graph, opened(), options).run("go");
    await before.stops(start());
    await fault.stops(start());
    expect(await start()).toMatchObject({ output });
    expect((await latestOf(durableAgent(graph, opened(), options))).model).toBe("scripted");
  });
});
