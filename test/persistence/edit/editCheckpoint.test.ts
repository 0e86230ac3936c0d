import {
  type AgentContext,
  type AIAgent,
  AgentBusyError,
  type DurableAgent,
  type EditOptions,
  persistence,
  RollbackIncompleteError,
  RollbackToolRegistry,
  storageKey,
  strategy,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { called, chain } from "../support/calledAgents.ts";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { latestOf, recordsOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const currency = storageKey("currency", z.enum(["EUR", "USD"]));
const ann = { by: "ann@example.com", reason: "wrong currency" };

/** "read" stores and says something, "check" takes at most ten characters, "pay" shows what it finds. */
function refunding(ran: string[], fault?: Fault) {
  return strategy<string, string>("refunding", (graph) => {
    const read = graph.node("read", (order: string, context: AgentContext) => {
      ran.push(`read ${order}`);
      context.storage.set(currency, "EUR");
      context.llm.append({ role: "user", content: `refund ${order}` }, { role: "user", content: "quickly" });
      return order;
    });
    const check = graph.node("check", { input: z.string().max(10) }, (order, context: AgentContext) => {
      ran.push(`check ${order}`);
      fault?.strike();
      return `${order} in ${context.storage.get(currency)}: ${JSON.stringify(context.llm.messages.map(({ content }) => content))}`;
    });
    const pay = graph.node("pay", (text: string) => `paid ${text}`);
    graph.edge(graph.start, read);
    graph.edge(read, check);
    graph.edge(check, pay);
    graph.edge(pay, graph.finish);
  });
}

const at = (agent: AIAgent<string, string>): DurableAgent => persistence(agent).agent();
const idOf = async (agent: AIAgent<string, string>, nodeId: string): Promise<string> =>
  (await at(agent).getCheckpoints()).find((each) => each.nodeId === nodeId)?.checkpointId ?? "none";

describe.each(storages)("$name: an edit", (storage) => {
  it("changes input, messages and storage on a branch, records the author and reason, and runs no node", async () => {
    const ran: string[] = [];
    const opened = await storage.open();
    const agent = durableAgent(refunding(ran), opened());
    expect(await agent.run("7")).toMatchObject({ output: 'paid 7 in EUR: ["refund 7","quickly"]' });
    const id = await idOf(agent, "check");
    const before = (await at(agent).getCheckpoints()).find(({ checkpointId }) => checkpointId === id);
    ran.length = 0;
    const edited = await at(agent).editCheckpoint(id, {
      ...ann,
      lastInput: "8",
      messageHistory: (messages) => messages.slice(0, -1),
      storage: (values) => values.set(currency, "USD"),
    });
    expect(ran).toEqual([]);
    expect(await latestOf(agent)).toMatchObject({
      ...edited,
      ...ann,
      parentId: id,
      move: "edit",
      nodeId: "check",
      lastInput: "8",
      storage: { currency: "USD" },
      messageHistory: [{ role: "user", content: "refund 7" }],
    });
    const stays = (await at(agent).getCheckpoints()).find(({ checkpointId }) => checkpointId === id);
    expect(stays && { ...stays }).toEqual(before && { ...before });
    const [root] = await at(durableAgent(refunding(ran), opened())).checkpointTree();
    const beside = root?.children[0]?.children ?? [];
    expect(beside.map(({ move, by, reason, isHead }) => [move, by, reason, isHead])).toEqual([
      [undefined, undefined, undefined, false],
      ["edit", ann.by, ann.reason, true],
    ]);
    const next = durableAgent(refunding(ran), opened());
    expect(await next.resume()).toMatchObject({ output: 'paid 8 in USD: ["refund 7"]' });
    expect(ran).toEqual(["check 8"]);
  });

  it("sets another node with the stored input or a given one", async () => {
    const opened = await storage.open();
    const agent = durableAgent(refunding([]), opened());
    await agent.run("7");
    await at(agent).editCheckpoint(await idOf(agent, "check"), { ...ann, nodeId: "pay" });
    expect(await agent.resume()).toMatchObject({ output: "paid 7" });
    await at(agent).editCheckpoint(await idOf(agent, "finish"), { ...ann, nodeId: "pay", lastInput: "9" });
    expect(await agent.resume()).toMatchObject({ output: "paid 9" });
  });

  it("is refused without changes if a run would refuse its values", async () => {
    const opened = await storage.open();
    const agent = durableAgent(refunding([]), opened());
    await agent.run("7");
    const [id, end] = [await idOf(agent, "check"), await idOf(agent, "finish")];
    const before = await at(agent).getCheckpoints();
    const refused = async (edit: Partial<EditOptions>, code: string, checkpointId = id): Promise<void> => {
      const attempt = at(agent).editCheckpoint(checkpointId, { ...ann, ...edit });
      await expect(attempt).rejects.toMatchObject({ code });
    };
    await refused({ nodeId: "nowhere" }, "unknown_node");
    await refused({ lastInput: "far too long for it" }, "invalid_input");
    await refused({ nodeId: "pay", lastInput: () => "a function" }, "not_serializable");
    await refused({ messageHistory: () => [{ role: "nobody", content: "" } as never] }, "invalid_input");
    await refused({ messageHistory: () => "none" as never }, "invalid_input");
    await refused({ messageHistory: () => undefined as never }, "invalid_input");
    await refused({ storage: (values) => values.set(currency, "GBP" as never) }, "invalid_input");
    const anything = storageKey("anything", z.unknown());
    await refused({ storage: (values) => values.set(anything, () => 1) }, "not_serializable");
    for (const key of ["by", "reason"] as const)
      for (const value of [undefined, "", "x".repeat(1_001), 7]) await refused({ [key]: value }, "invalid_input");
    await expect(at(agent).editCheckpoint(id, { ...ann, by: "" })).rejects.toThrow("1 to 1,000 characters, found 0");
    await refused({ messages: [] } as never, "invalid_input");
    await refused({}, "checkpoint_not_found", "9-9");
    await refused({}, "invalid_input", end);
    const thrown = new Error("the caller's own");
    await expect(
      at(agent).editCheckpoint(id, {
        ...ann,
        storage: () => {
          throw thrown;
        },
      }),
    ).rejects.toBe(thrown);
    expect((await at(agent).getCheckpoints()).map((each) => ({ ...each }))).toEqual(
      before.map((each) => ({ ...each })),
    );
    expect(await agent.run("7", { runId: before[0]?.runId ?? "" })).toMatchObject({ status: "completed" });
    await at(agent).rollbackToLatestCheckpoint();
    await refused({}, "invalid_input", (await latestOf(agent)).checkpointId);
  });

  it("of a finished run keeps its result and creates a new run", async () => {
    const opened = await storage.open();
    const agent = durableAgent(refunding([]), opened());
    await agent.run("7", { runId: "first" });
    await at(agent).editCheckpoint(await idOf(agent, "check"), { ...ann, lastInput: "8" });
    expect(await agent.resume()).toMatchObject({ output: 'paid 8 in EUR: ["refund 7","quickly"]' });
    expect(await agent.run("7", { runId: "first" })).toMatchObject({ output: 'paid 7 in EUR: ["refund 7","quickly"]' });
  });
});

describe.each(logStorages)("$name: an edit", (storage) => {
  it("is one append that includes the status", async () => {
    const opened = await storage.open();
    const provider: LogPersistenceStorageProvider = opened();
    const fault = new Fault();
    const agent = durableAgent(refunding([], fault), provider);
    await fault.stops(agent.run("7"));
    const before = (await recordsOf(provider)).length;
    await at(agent).editCheckpoint(await idOf(agent, "check"), ann);
    expect((await recordsOf(provider)).slice(before).map(({ kind }) => kind)).toEqual([
      "lane",
      "checkpoint",
      // From failed over queued and in progress.
      "status",
      "status",
      "status",
    ]);
    for await (const summary of provider.log.list()) expect(summary).toMatchObject({ status: "paused" });
  });

  it("gives new ids to calls that the new history leaves open", async () => {
    const world = new World();
    const book = world.adder("book", "idempotent");
    const turns = [{ toolCalls: [{ toolName: "book", input: { item: "one" } }] }, "done"];
    const opened = await storage.open();
    const agent = () => durableAgent(defaultLoop, opened(), { tools: [book], turns });
    await agent().run("go");
    const [first] = world.executed;
    const id = await idOf(agent(), "callTools");
    await at(agent()).editCheckpoint(id, {
      ...ann,
      messageHistory: (messages) => [{ role: "system", content: "be careful" }, ...messages],
    });
    await agent().resume();
    const [, second] = world.executed;
    expect(second).not.toBe(first);
    const messages = await at(agent()).getMessages();
    expect(messages[0]).toEqual({ role: "system", content: "be careful" });
    const ids = messages.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : [])),
    );
    expect(ids).toEqual([second, second]);
  });

  it("makes a changed call of the model with its new input", async () => {
    const world = new World();
    const book = world.adder("book", "idempotent");
    const turns = [{ toolCalls: [{ toolName: "book", input: { item: "one" } }] }, "done"];
    const opened = await storage.open();
    const agent = () => durableAgent(defaultLoop, opened(), { tools: [book], turns });
    await agent().run("go");
    const content = [{ type: "tool-call", toolCallId: "mine", toolName: "book", input: { item: "two" } }] as const;
    const changed = { role: "assistant", content } as const;
    await at(agent()).editCheckpoint(await idOf(agent(), "callTools"), {
      ...ann,
      lastInput: changed,
      messageHistory: (messages) => [...messages.slice(0, -1), changed],
    });
    await agent().resume();
    expect(world.items).toEqual(["one", "two"]);
    expect(new Set(world.executed).size).toBe(2);
    expect(JSON.stringify(await at(agent()).getMessages())).not.toContain('"toolCallId":"mine"');
  });

  it("keeps the open request of a sibling branch", async () => {
    const ran: string[] = [];
    const built = strategy<string, string>("beside", (graph) => {
      const ask = graph.node("ask", (_: string, context: AgentContext) =>
        context.requestInput({ prompt: "ok?", schema: z.boolean() }),
      );
      const work = graph.node("work", (text: string) => {
        ran.push(text);
        return text;
      });
      const both = graph.parallel("both", { ask, work }, (results) => `${results.ask} ${results.work}`);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened());
    await agent().run("go");
    const id = await idOf(agent(), "work");
    await expect(at(agent()).editCheckpoint(id, { ...ann, nodeId: "both" })).rejects.toMatchObject({
      code: "unknown_node",
    });
    await at(agent()).nameCheckpoint(id, "working");
    await at(agent()).editCheckpoint("working", { ...ann, lastInput: "other" });
    const back = await agent().resume();
    const [request] = back.status === "waiting" ? back.requests : [];
    expect(request).toMatchObject({ branch: "both#ask" });
    await at(agent()).answer(request?.requestId ?? "", true);
    expect(await agent().resume()).toMatchObject({ output: "true other" });
    expect(ran).toEqual(["go", "other"]);
  });

  it("of a checkpoint of a called agent uses the strategy of that agent", async () => {
    const fault = new Fault();
    const research = chain("research", {
      look: (topic) => `found ${topic}`,
      write: (text) => {
        fault.strike();
        return text;
      },
    });
    const ask = called("research", research);
    const chief = chain("chief", { lead: (topic, context) => context.tools.call(ask, { topic }) });
    const opened = await storage.open();
    const agent = () => durableAgent(chief, opened(), { tools: [ask] });
    await expect(agent().run("x")).rejects.toThrow("stopped");
    fault.repair();
    const id = await idOf(agent(), "write");
    await expect(at(agent()).editCheckpoint(id, { ...ann, nodeId: "lead" })).rejects.toMatchObject({
      code: "unknown_node",
    });
    const { checkpointId } = await at(agent()).editCheckpoint(id, { ...ann, lastInput: "edited" });
    const edited = (await at(agent()).getCheckpoints()).find((each) => each.checkpointId === checkpointId);
    expect(edited).toMatchObject({ agentPath: ["research"], nodeId: "write", lastInput: "edited", ...ann });
    expect(await agent().resume()).toMatchObject({ output: "edited" });
  });

  it("finishes an open rollback first, and leaves it unchanged if the edit is refused", async () => {
    const world = new World();
    const book = world.adder("book");
    let fails = true;
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) => {
      if (fails) throw new Error("not now");
      world.remove(toolCallId, item);
    });
    const built = chain("booking", {
      first: (text) => text,
      second: async (text, context) => {
        await context.tools.call(book, { item: text });
        return text;
      },
      third: (text) => text,
    });
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), { tools: [book], registry });
    await agent().run("x");
    const [first, third] = [await idOf(agent(), "first"), await idOf(agent(), "third")];
    await expect(at(agent()).rollbackToCheckpoint(first)).rejects.toBeInstanceOf(RollbackIncompleteError);
    await expect(at(agent()).editCheckpoint(third, { ...ann, nodeId: "nowhere" })).rejects.toMatchObject({
      code: "unknown_node",
    });
    expect((await recordsOf(opened())).filter(({ kind }) => kind === "rollback_end")).toEqual([]);
    fails = false;
    await at(agent()).editCheckpoint(third, { ...ann, lastInput: "y" });
    expect((await recordsOf(opened())).filter(({ kind }) => kind === "rollback_end")).toHaveLength(1);
    expect(world.effects.size).toBe(0);
    expect(await agent().resume()).toMatchObject({ output: "y" });
  });

  it("is refused while the agent runs", async () => {
    let inside: unknown;
    const agent: AIAgent<string, string> = durableAgent(
      chain("one", {
        first: async (text) => {
          inside = await at(agent)
            .editCheckpoint("1-1", ann)
            .catch((error: unknown) => error);
          return text;
        },
      }),
      (await storage.open())(),
    );
    await agent.run("go");
    expect(inside).toBeInstanceOf(AgentBusyError);
  });
});
