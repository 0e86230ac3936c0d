import { strategy, type AgentContext, type PromptExecutor } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault, Stopped } from "../../support/durableAgent.ts";
import { logStorages } from "../../support/storages.ts";
import { World } from "../../support/World.ts";

/** A model that never answers twice alike: other ids and other words at each request. */
function forgetfulModel(): PromptExecutor & { readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    execute: async () => {
      asked++;
      const call = {
        type: "tool-call",
        toolCallId: `id ${asked}`,
        toolName: "book",
        input: { item: `try ${asked}` },
      } as const;
      return { message: { role: "assistant", content: [call] } };
    },
  };
}

describe.each(logStorages)("$name: a recorded response", (storage) => {
  it("is replayed in order instead of a model request, in node and tool code", async () => {
    const opened = await storage.open();
    const [world, fault, model] = [new World(), new Fault(), forgetfulModel()];
    const book = world.adder("book");
    const outputs: unknown[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (_input: string, context: AgentContext) => {
        const answers = [await context.llm.request(), await context.llm.request()];
        for (const answer of answers) outputs.push(await context.tools.execute(answer));
        fault.strike();
        return "done";
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const options = { model, tools: [book] };
    await expect(durableAgent(graph, opened(), options).run("go")).rejects.toBeInstanceOf(Stopped);
    await expect(durableAgent(graph, opened(), options).resume()).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    await durableAgent(graph, opened(), options).resume();
    expect(model.asked()).toBe(2);
    expect(world.done).toEqual(["book try 1", "book try 2"]);
    expect([outputs.slice(2, 4), outputs.slice(4)]).toEqual([outputs.slice(0, 2), outputs.slice(0, 2)]);
  });

  it("is not replayed to a finished node that runs again", async () => {
    const opened = await storage.open();
    const [world, model] = [new World(), forgetfulModel()];
    const book = world.adder("book");
    let rounds = 0;
    const graph = strategy<string, string>("s", (g) => {
      const again = g.node("again", async (input: string, context: AgentContext) => {
        await context.tools.execute(await context.llm.request());
        rounds++;
        return input;
      });
      g.edge(g.start, again);
      g.edge(again, again, { when: () => rounds < 3 });
      g.edge(again, g.finish);
    });
    await durableAgent(graph, opened(), { model, tools: [book] }).run("go");
    expect(model.asked()).toBe(3);
    expect(new Set(world.executed).size).toBe(3);
  });
});
