import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy, tool } from "agent-persistence";
import type { AgentFeature } from "agent-persistence/feature";
import { scriptedModel } from "agent-persistence/testing";
import { expect, test } from "vitest";
import { z } from "zod";

/** A feature that notes the names of called tools. */
function toolNames(key: string): AgentFeature<object, string[]> {
  return {
    key,
    install: (pipeline) => {
      const names: string[] = [];
      pipeline.aroundToolCall((event, next) => {
        names.push(event.tool.name);
        return next(event);
      });
      return names;
    },
  };
}

test("a feature sees replayed calls if it is installed before Persistence, and only new calls if after", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const [before, after] = [toolNames("before"), toolNames("after")];
  const look = tool({ name: "look", description: "", inputSchema: z.string(), execute: (item) => item });
  let fails = true;
  const looking = strategy<string, string>("looking", (graph) => {
    const node = graph.node("node", async (item: string, { tools }) => {
      await tools.call(look, item);
      if (fails) throw new Error("stopped");
      return item;
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const open = () =>
    new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m", strategy: looking, tools: [look] })
      .install(before, {})
      .install(Persistence, { storage })
      .install(after, {});
  const [first, second] = [open(), open()];
  await expect(first.run("x", { agentId: "a" })).rejects.toThrow("stopped");
  fails = false;
  await second.resume({ agentId: "a" });
  expect([first.feature(before), first.feature(after)]).toEqual([["look"], ["look"]]);
  expect([second.feature(before), second.feature(after)]).toEqual([["look"], []]);
});
