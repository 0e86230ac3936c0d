import { persistence, strategy, tool, type AgentContext, type ToolEffect } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { idOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

/** A tool that fails so often, and then works. */
function shaky(failures: number, effect: ToolEffect) {
  const ids: string[] = [];
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ item: z.string() }),
    effect,
    execute: ({ item }, { toolCallId }) => {
      ids.push(toolCallId);
      if (ids.length <= failures) throw new Error(`${item}: no connection`);
      return `${item} is paid`;
    },
  });
  return { pay, ids };
}

const one = (body: (input: string, context: AgentContext) => Promise<string>) =>
  strategy<string, string>("one", (graph) => {
    const node = graph.node("node", body);
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });

describe.each(logStorages)("a call whose failure ended the run, $name", ({ open }) => {
  it.each<ToolEffect>(["none", "idempotent", "reversible", "irreversible"])(
    "is made again under its id when the run is resumed: %s",
    async (effect) => {
      const opened = await open();
      const { pay, ids } = shaky(2, effect);
      const graph = one(async (item, context) => {
        const may = await context.requestInput({ prompt: `pay ${item}?`, schema: z.boolean() });
        return may ? context.tools.call(pay, { item }) : "nothing";
      });
      const agent = () => durableAgent(graph, opened(), { tools: [pay] });
      const asked = await agent().run("rent");
      const [request] = asked.status === "waiting" ? asked.requests : [];
      await persistence(agent())
        .agent()
        .answer(request?.requestId ?? "", true);
      await expect(agent().resume()).rejects.toThrow("no connection");
      const records = await recordsOf(opened());
      expect(records.findLast(({ kind }) => kind === "status")).toMatchObject({
        status: "failed",
        failedCalls: [ids[0]],
      });
      await expect(agent().resume()).rejects.toThrow("no connection");
      expect(await agent().resume()).toMatchObject({ output: "rent is paid" });
      expect(new Set(ids).size).toBe(1);
      expect(ids).toHaveLength(3);
      expect(await persistence(agent()).agent().getToolCallsInDoubt()).toEqual([]);
    },
  );

  it("is recognized by a cause or within several errors, unlike a call whose failure the node caught", async () => {
    const opened = await open();
    const first = shaky(1, "idempotent");
    const second = shaky(1, "idempotent");
    const caught = shaky(1, "idempotent");
    const named = (name: string, { pay }: typeof first) => Object.freeze({ ...pay, name });
    const tools = [named("first", first), named("second", second), named("caught", caught)] as const;
    const said: string[] = [];
    const graph = one(async (item, context) => {
      await context.tools.call(tools[2], { item }).catch((error: unknown) => said.push((error as Error).message));
      const both = await Promise.allSettled([
        context.tools.call(tools[0], { item }),
        context.tools.call(tools[1], { item }).catch((cause: unknown) => {
          throw new Error("second", { cause });
        }),
      ]);
      const errors = both.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
      if (errors.length > 0) throw new AggregateError(errors, "both");
      return "done";
    });
    const agent = () => durableAgent(graph, opened(), { tools });
    await expect(agent().run("rent")).rejects.toThrow("both");
    expect(await agent().resume()).toMatchObject({ output: "done" });
    expect([first.ids.length, second.ids.length, caught.ids.length]).toEqual([2, 2, 1]);
    expect(said).toHaveLength(2);
    expect(said[1]).toBe(said[0]);
  });

  it("is made again with the other failed calls of one Promise.all, unlike a failure that an earlier call followed", async () => {
    const opened = await open();
    const shakies = ["caught", "a", "b", "c"].map((name) => ({ ...shaky(name === "b" ? 0 : 1, "irreversible"), name }));
    const tools = shakies.map(({ pay, name }) => Object.freeze({ ...pay, name }));
    const graph = one(async (item, context) => {
      const pay = (each: (typeof tools)[number]) => context.tools.call(each, { item });
      const [caught, ...others] = tools;
      const first = caught && (await pay(caught).catch(() => "caught"));
      return [first, ...(await Promise.all(others.map(pay)))].join(", ");
    });
    const agent = () => durableAgent(graph, opened(), { tools });
    await expect(agent().run("rent")).rejects.toThrow("no connection");
    expect(await agent().resume()).toMatchObject({ output: "caught, rent is paid, rent is paid, rent is paid" });
    expect(shakies.map(({ ids }) => [ids.length, new Set(ids).size])).toEqual([
      [1, 1],
      [2, 1],
      [1, 1],
      [2, 1],
    ]);
  });

  it("is recorded even if the name of the error cannot be read", async () => {
    const opened = await open();
    const { pay } = shaky(0, "irreversible");
    const names = [{ value: Object.create(null) as unknown }, { get: () => JSON.parse("no") as unknown }];
    const tools = names.map((name, at) =>
      Object.freeze({
        ...pay,
        name: `pay${at}`,
        execute: () => {
          throw Object.defineProperty(new Error("no connection"), "name", name);
        },
      }),
    );
    const graph = one(async (item, context) => {
      const ends = await Promise.allSettled(tools.map((each) => context.tools.call(each, { item })));
      return ends.map((end) => end.status === "rejected" && (end.reason as Error).message).join();
    });
    const agent = durableAgent(graph, opened(), { tools });
    const failed = (at: number) => `The tool "pay${at}" failed: no connection`;
    expect(await agent.run("rent")).toMatchObject({ output: `${failed(0)},${failed(1)}` });
    expect(await persistence(agent).agent().getToolCallsInDoubt()).toEqual([]);
  });

  it("is made again in every failed branch", async () => {
    const opened = await open();
    const shakies = [shaky(1, "irreversible"), shaky(1, "irreversible"), shaky(1, "irreversible")];
    const tools = shakies.map(({ pay }, at) => Object.freeze({ ...pay, name: `pay${at}` }));
    const graph = strategy<string, string>("branches", (g) => {
      const branches = Object.fromEntries(
        tools.map((each, at) => [
          `b${at}`,
          g.node(`b${at}`, (item: string, context: AgentContext) => context.tools.call(each, { item })),
        ]),
      );
      const all = g.parallel("all", branches, (results) => Object.values(results).join(", "));
      g.edge(g.start, all);
      g.edge(all, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { tools });
    await expect(agent().run("rent")).rejects.toThrow("no connection");
    expect(await agent().resume()).toMatchObject({ output: "rent is paid, rent is paid, rent is paid" });
    expect(shakies.map(({ ids }) => [ids.length, new Set(ids).size])).toEqual([
      [2, 1],
      [2, 1],
      [2, 1],
    ]);
  });

  it("is not made again once it has another outcome, so a catch runs the same way", async () => {
    const opened = await open();
    const [first, second] = [shaky(2, "idempotent"), shaky(1, "idempotent")];
    const tools = [Object.freeze({ ...first.pay, name: "first" }), Object.freeze({ ...second.pay, name: "second" })];
    const [one1, two] = tools as [typeof first.pay, typeof second.pay];
    const graph = one(async (item, context) => {
      const both = await Promise.allSettled([one1, two].map((each) => context.tools.call(each, { item })));
      const errors = both.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
      if (errors.length === 2) throw new AggregateError(errors, "both");
      await context.requestInput({ prompt: `go on without ${errors.length}?`, schema: z.boolean() });
      return `${errors.length} failed`;
    });
    const agent = () => durableAgent(graph, opened(), { tools });
    await expect(agent().run("rent")).rejects.toThrow("both");
    const asked = await agent().resume();
    const [request] = asked.status === "waiting" ? asked.requests : [];
    expect(request).toMatchObject({ prompt: "go on without 1?" });
    expect(await agent().resume({ answers: { [request?.requestId ?? ""]: true } })).toMatchObject({
      output: "1 failed",
    });
    expect([first.ids.length, second.ids.length]).toEqual([2, 2]);
  });

  it("is not made again once it has another outcome, even after an abort", async () => {
    const opened = await open();
    const { pay, ids } = shaky(2, "idempotent");
    const other = shaky(0, "irreversible");
    const book = Object.freeze({ ...other.pay, name: "book" });
    const stop = new AbortController();
    const graph = one(async (item, context) => {
      const end = await context.tools.call(pay, { item }).catch((error: unknown) => error as Error);
      if (typeof end === "string") return end;
      if (ids.length === 1) throw end;
      await context.tools.call(book, { item });
      if (!stop.signal.aborted) stop.abort();
      context.signal.throwIfAborted();
      return "booked";
    });
    const agent = () => durableAgent(graph, opened(), { tools: [pay, book] });
    await expect(agent().run("rent")).rejects.toThrow("no connection");
    await expect(agent().resume({ signal: stop.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(await agent().resume()).toMatchObject({ output: "booked" });
    expect([ids.length, other.ids.length]).toEqual([2, 1]);
  });

  it("is made again even if the run waits first", async () => {
    const opened = await open();
    const [first, second] = [shaky(1, "idempotent"), shaky(1, "idempotent")];
    const tools = [Object.freeze({ ...first.pay, name: "first" }), Object.freeze({ ...second.pay, name: "second" })];
    const graph = one(async (item, context) => {
      const errors: unknown[] = [];
      for (const each of tools) {
        const said = await context.tools.call(each, { item }).catch((error: unknown) => errors.push(error));
        if (typeof said === "string") await context.requestInput({ prompt: "go on?", schema: z.boolean() });
      }
      if (errors.length > 0) throw new AggregateError(errors, "some");
      return "done";
    });
    const agent = () => durableAgent(graph, opened(), { tools });
    await expect(agent().run("rent")).rejects.toThrow("some");
    const asked = idOf(await agent().resume());
    const again = idOf(await agent().resume({ answers: { [asked]: true } }));
    expect(await agent().resume({ answers: { [again]: true } })).toMatchObject({ output: "done" });
    expect([first.ids.length, second.ids.length]).toEqual([2, 2]);
  });

  it("is in doubt if the process ends during the repetition", async () => {
    const opened = await open();
    const { pay, ids } = shaky(1, "irreversible");
    const graph = one((item, context) => context.tools.call(pay, { item }));
    const agent = () => durableAgent(graph, opened(), { tools: [pay] });
    await expect(agent().run("rent")).rejects.toThrow("no connection");
    // The status and the intent are stored, and nothing after them.
    await durableAgent(graph, crashAfter(opened(), 2), { tools: [pay] })
      .resume()
      .catch(() => undefined);
    expect(ids).toHaveLength(2);
    await expect(agent().resume()).rejects.toMatchObject({ code: "tool_call_in_doubt" });
    expect(ids).toHaveLength(2);
  });

  it("is made again by a task that is retried", async () => {
    const opened = await open();
    const { pay, ids } = shaky(1, "irreversible");
    const graph = one((item, context) => context.tools.call(pay, { item }));
    const agent = () => durableAgent(graph, opened(), { tools: [pay] });
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "a", taskName: "pay", inputRequest: "rent" });
    await expect(agent().resume()).rejects.toThrow("no connection");
    await tasks.retry("a");
    expect(await agent().resume()).toMatchObject({ output: "rent is paid" });
    expect(new Set(ids).size).toBe(1);
  });
});
