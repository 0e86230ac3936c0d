import { type AgentContext, type AIAgent, persistence, strategy } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { requestsOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

describe.each(logStorages)("$name: a node in a branch of a new line", (storage) => {
  it.each([
    ["the branch", "the fork"],
    ["the lines around it", "the fork"],
    ["the branch", "a resume from a checkpoint"],
    ["the lines around it", "a resume from a checkpoint"],
  ])("rolls back to a checkpoint of %s from before %s", async (where, move) => {
    const opened = await storage.open();
    const ran: string[] = [];
    const codes: unknown[] = [];
    let moves = 1;
    const visit = (name: string) => async (text: string) => {
      ran.push(name);
      return text;
    };
    const built = strategy<string, string>("moving", (graph) => {
      const first = graph.node("first", visit("first"));
      const chain = graph.subgraph<string, string>("chain", (inner) => {
        const one = inner.node("one", visit("one"));
        const two = inner.node("two", visit("two"));
        const ask = inner.node("ask", async (_: string, context: AgentContext) => {
          const answer = await context.requestInput({ prompt: "ok?", schema: z.string() });
          if (moves-- <= 0) return answer;
          const node = where === "the branch" ? "two" : "both";
          const found = (await persistence(context).getCheckpoints()).find(
            ({ nodeId }) => nodeId.split("/").at(-1) === node,
          );
          const moved = await persistence(context)
            .rollbackToCheckpoint(found?.checkpointId ?? "none")
            .catch((error: { readonly code?: string }) => void codes.push(error.code));
          return (moved ?? answer) as string;
        });
        inner.edge(inner.start, one);
        inner.edge(one, two);
        inner.edge(two, ask);
        inner.edge(ask, inner.finish);
      });
      const both = graph.parallel("both", { chain }, ({ chain: text }) => text);
      graph.edge(graph.start, first);
      graph.edge(first, both);
      graph.edge(both, graph.finish);
    });
    const agent = (): AIAgent<string, string> => durableAgent(built, opened());
    await agent().run("go");
    const agentId = move === "the fork" ? "b" : "a";
    const a = persistence(agent()).agent("a");
    const checkpointId = (await a.getCheckpoints()).at(-1)?.checkpointId ?? "none";
    if (agentId === "b") await a.fork("b");
    else await agent().resume({ checkpointId });
    const resume = async () => {
      const [request] = await persistence(agent()).agent(agentId).getRequests();
      return agent().resume({ agentId, answers: { [request?.requestId ?? ""]: "yes" } });
    };
    expect(requestsOf(await resume())).toHaveLength(1);
    expect(codes).toEqual([]);
    expect(await resume()).toMatchObject({ output: "yes" });
    const again = where === "the branch" ? ["two"] : ["one", "two"];
    expect(ran).toEqual(["first", "one", "two", ...again]);
  });

  it("is rolled back from outside to a checkpoint of the branch from before the fork", async () => {
    const [opened, ran] = [await storage.open(), [] as string[]];
    const built = strategy<string, string>("moving", (graph) => {
      const chain = graph.subgraph<string, string>("chain", (inner) => {
        const one = inner.node("one", async (text: string) => `${text} ${ran.push("one")}`);
        const ask = inner.node("ask", (_: string, context: AgentContext) =>
          context.requestInput({ prompt: "ok?", schema: z.string() }),
        );
        inner.edge(inner.start, one);
        inner.edge(one, ask);
        inner.edge(ask, inner.finish);
      });
      const both = graph.parallel("both", { chain }, ({ chain: text }) => text);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const agent = (): AIAgent<string, string> => durableAgent(built, opened());
    await agent().run("go");
    const b = await persistence(agent()).agent("a").fork("b");
    const [before] = (await b.getCheckpoints()).filter(({ nodeId }) => nodeId.endsWith("one"));
    await b.rollbackToCheckpoint(before?.checkpointId ?? "none");
    expect(requestsOf(await agent().resume({ agentId: "b" }))).toHaveLength(1);
    expect(ran).toEqual(["one", "one"]);
    const [request] = await b.getRequests();
    expect(await agent().resume({ agentId: "b", answers: { [request?.requestId ?? ""]: "yes" } })).toMatchObject({
      output: "yes",
    });
  });
});
