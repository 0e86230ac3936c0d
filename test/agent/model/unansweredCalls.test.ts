import {
  AIAgent,
  callModel,
  type Graph,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  textOf,
  tool,
} from "agent-persistence";
import { UnansweredToolCallError } from "agent-persistence/errors";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const find = tool({ name: "find", description: "Finds.", inputSchema: z.object({}), effect: "none", execute: () => 1 });
const asksForFind = { toolCalls: [{ toolName: "find", input: {} }] };

const agentOf = (last: (graph: Graph<string, string>) => void) =>
  new AIAgent({
    llmModel: "m",
    tools: [find],
    promptExecutor: scriptedModel([asksForFind]),
    strategy: strategy<string, string>("s", last),
  });

describe("a strategy whose last response calls a tool", () => {
  it("fails if it takes only the text of the response", async () => {
    const ends = agentOf((graph) => {
      const last = graph.node("last", callModel);
      graph.edge(graph.start, last);
      graph.edge(last, graph.finish, { map: textOf });
    });
    const failure: unknown = await ends.run("x").catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UnansweredToolCallError);
    expect(failure).toMatchObject({ code: "unanswered_tool_call", nodeId: "last", toolNames: ["find"] });
  });

  it("is resumed by a strategy with an edge for the calls, without repeating work", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const failing = agentOf((graph) => {
      const last = graph.node("last", callModel);
      graph.edge(graph.start, last);
      graph.edge(last, graph.finish, { map: textOf });
    }).install(Persistence, { storage });
    await expect(failing.run("x")).rejects.toMatchObject({ code: "unanswered_tool_call" });
    const repaired = agentOf((graph) => {
      const last = graph.node("last", callModel);
      graph.edge(graph.start, last);
      graph.edge(last, graph.finish, { map: (answer) => `calls ${answer.content.length}` });
    }).install(Persistence, { storage });
    expect(await repaired.resume()).toMatchObject({ status: "completed", output: "calls 1" });
  });

  it("completes if it made the calls or returns more than the text", async () => {
    const makes = agentOf((graph) => {
      const last = graph.node("last", async (input: string, context) => {
        const answer = await callModel(input, context);
        context.llm.append(await context.tools.execute(answer));
        return answer;
      });
      graph.edge(graph.start, last);
      graph.edge(last, graph.finish, { map: textOf });
    });
    expect(await makes.run("x")).toMatchObject({ status: "completed", output: "" });
    const gives = agentOf((graph) => {
      const last = graph.node("last", callModel);
      graph.edge(graph.start, last);
      graph.edge(last, graph.finish, { map: (answer) => JSON.stringify(answer.content) });
    });
    expect(await gives.run("x")).toMatchObject({
      status: "completed",
      output: expect.stringContaining("find") as string,
    });
  });
});
