import { persistence, strategy, type AgentContext, type PromptExecutor } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

type Tools = Readonly<Record<"look" | "book" | "pay", ReturnType<World["adder"]>>>;

interface Case {
  readonly what: string;
  /** What the node does before its process ends. */
  readonly first: (context: AgentContext, tools: Tools) => Promise<unknown>;
  /** What it does when it runs again. */
  readonly second: (context: AgentContext, tools: Tools) => Promise<unknown>;
}

const ask = async ({ llm }: AgentContext, question: string) => {
  llm.append({ role: "user", content: question });
  const answer = await llm.request();
  llm.append(answer);
};

/** Another question, tool or input than before. */
const differences: readonly Case[] = [
  { what: "another question", first: (c) => ask(c, "one"), second: (c) => ask(c, "two") },
  {
    what: "a question with other parameters",
    first: (c) => ask(c, "one"),
    second: (c) => (c.llm.configure({ parameters: { temperature: 1 } }), ask(c, "one")),
  },
  {
    what: "a question after a rewritten history",
    first: (c) => ask(c, "one"),
    second: (c) => (c.llm.rewrite(() => [{ role: "user", content: "summary" }]), ask(c, "one")),
  },
  {
    what: "another tool",
    first: (c, { look }) => c.tools.call(look, { item: "x" }),
    second: (c, { pay }) => c.tools.call(pay, { item: "x" }),
  },
  {
    what: "another input",
    first: (c, { look }) => c.tools.call(look, { item: "x" }),
    second: (c, { look }) => c.tools.call(look, { item: "y" }),
  },
];

/** Counts what it is asked. */
function echo(): PromptExecutor & { readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    execute: async () => ({ message: { role: "assistant", content: `answer ${++asked}` } }),
  };
}

describe.each(logStorages)("$name: a node that runs again", (storage) => {
  async function twice({ first, second }: Case, before: (context: AgentContext, tools: Tools) => Promise<unknown>) {
    const world = new World();
    const opened = await storage.open();
    const fault = new Fault();
    const model = echo();
    const tools: Tools = {
      look: world.adder("look", "none"),
      book: world.adder("book"),
      pay: world.adder("pay", "idempotent"),
    };
    let again = false;
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (input: string, context: AgentContext) => {
        await before(context, tools);
        await (again ? second : first)(context, tools);
        fault.strike();
        return input;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = durableAgent(graph, opened(), { tools: Object.values(tools), model });
    await agent.run("go").catch(() => undefined);
    again = true;
    fault.repair();
    return { world, agent, model };
  }

  it.each(differences)("discards its replay if it requests $what and no call has an effect", async (one) => {
    const { agent } = await twice(one, async () => undefined);
    expect(await agent.resume()).toMatchObject({ output: "go" });
  });

  it.each(differences)("stops if it requests $what and a call has an effect", async (one) => {
    const { agent, world } = await twice(one, (context, { book }) => context.tools.call(book, { item: "b" }));
    const done = [...world.done];
    await expect(agent.resume()).rejects.toMatchObject({
      code: "replay_diverged",
      agentId: "a",
      nodeId: "only",
      effects: [{ toolCallId: world.executed[0], toolName: "book", inDoubt: false }],
      message: expect.stringMatching(/setExecutionPoint\(\{ nodeId: "only".*rollbackToLatestCheckpoint\(\)/) as string,
    });
    expect(world.done).toEqual(done);
    // Kept: the node runs afresh, and the effect stands.
    await persistence(agent).agent().setExecutionPoint({ nodeId: "only", input: "kept" });
    expect(await agent.resume()).toMatchObject({ output: "kept" });
    expect(world.done.filter((item) => item === "book b")).toHaveLength(2);
  });

  it("stops if it no longer makes a call that has an effect", async () => {
    const one: Case = {
      what: "nothing",
      first: (context, { book }) => context.tools.call(book, { item: "b" }),
      second: async () => undefined,
    };
    const { agent, world } = await twice(one, async () => undefined);
    await expect(agent.resume()).rejects.toMatchObject({
      code: "replay_diverged",
      found: "nothing more",
      effects: [{ toolCallId: world.executed[0], toolName: "book" }],
    });
    await persistence(agent).agent().rollbackToLatestCheckpoint();
    expect(await agent.resume()).toMatchObject({ output: "go" });
  });

  it("gets the recorded responses if it makes the same requests, without calling the model", async () => {
    const same = (context: AgentContext) => ask(context, "one").then(() => ask(context, "two"));
    const { agent, model } = await twice({ what: "the same", first: same, second: same }, (context, { book }) =>
      context.tools.call(book, { item: "b" }),
    );
    expect(model.asked()).toBe(2);
    expect(await agent.resume()).toMatchObject({ output: "go" });
    expect(model.asked()).toBe(2);
  });

  it("ignores the records after a difference if it discards its replay", async () => {
    const answers = (question: string) => async (context: AgentContext) => {
      await ask(context, question);
      await ask(context, "more");
    };
    const { agent, model } = await twice(
      { what: "another", first: answers("one"), second: answers("two") },
      async () => undefined,
    );
    expect(await agent.resume()).toMatchObject({ output: "go" });
    expect(model.asked()).toBe(4);
  });
});
