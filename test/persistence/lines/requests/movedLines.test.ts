import { type AgentContext, persistence, strategy } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../../support/durableAgent.ts";
import { logStorages } from "../../support/storages.ts";

/** Two branches: one asks once, and one saves where it begins each time that it runs, and asks. */
const built = strategy<string, string>("asking", (graph) => {
  const ask = (prompt: string, context: AgentContext) => context.requestInput({ prompt, schema: z.string() });
  const both = graph.parallel(
    "both",
    {
      once: graph.node("once", (_: string, context) => ask("once?", context)),
      saves: graph.node("saves", async (_: string, context) => {
        await persistence(context).createCheckpoint();
        return ask("saves?", context);
      }),
      two: graph.subgraph<string, string>("two", (inner) => {
        const first = inner.node("first", (_: string, context) => ask("first?", context));
        const second = inner.node("second", (text: string) => text);
        inner.edge(inner.start, first);
        inner.edge(first, second);
        inner.edge(second, inner.finish);
      }),
    },
    (results) => Object.values(results).join(", "),
  );
  graph.edge(graph.start, both);
  graph.edge(both, graph.finish);
});

describe.each(logStorages)("$name: a rollback of one line", (storage) => {
  async function waiting() {
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened());
    await agent().run("go");
    return { agent, durable: persistence(agent()).agent("a") };
  }

  it("keeps requests of other lines open while the agent is paused", async () => {
    const { agent, durable } = await waiting();
    const before = await durable.getRequests();
    const begun = (await durable.getCheckpoints()).find(({ branch, nodeId }) => branch === "both#two" && nodeId !== "");
    await durable.rollbackToCheckpoint(begun?.checkpointId ?? "none");
    const [once, saves, ...others] = await durable.getRequests();
    expect([once, saves]).toEqual(before.filter(({ prompt }) => prompt !== "first?"));
    expect(others).toEqual([]);
    const fork = await durable.fork("b");
    const inFork = await fork.getRequests();
    expect(inFork.map((each) => ({ ...each, requestId: "" }))).toEqual(
      [once, saves].map((each) => ({ ...each, requestId: "" })),
    );
    await durable.answer(once?.requestId ?? "", "1");
    expect(await durable.getRequests()).toEqual([saves]);
    const listed = [];
    for await (const { agentId, status } of persistence(agent()).unfinished()) listed.push(`${agentId} ${status}`);
    expect(listed.toSorted()).toEqual(["a paused", "b paused"]);
    expect(await agent().resume()).toMatchObject({ requests: { length: 2 } });
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ requests: { length: 3 } });
    for (const { requestId, prompt } of await durable.getRequests()) await durable.answer(requestId, prompt);
    expect(await agent().resume()).toMatchObject({ output: "1, saves?, first?" });
  });

  it("drops the requests that its node made before, also in a fork", async () => {
    const { agent, durable } = await waiting();
    const [once] = await durable.getRequests();
    await durable.answer(once?.requestId ?? "", "1");
    await agent().resume();
    const saved = (await durable.getCheckpoints()).findLast(({ branch }) => branch === "both#saves");
    await durable.rollbackToCheckpoint(saved?.checkpointId ?? "none");
    const fork = await durable.fork("b");
    const ids = { requestId: "" };
    expect((await durable.getRequests()).map(({ prompt }) => prompt)).toEqual(["first?"]);
    expect((await fork.getRequests()).map((each) => ({ ...each, ...ids }))).toEqual(
      (await durable.getRequests()).map((each) => ({ ...each, ...ids })),
    );
    const [inAgent, inFork] = [await durable.getLatestCheckpoint(), await fork.getLatestCheckpoint()];
    expect(inAgent?.branches?.map(({ path, status }) => [path, status])).toEqual([
      ["both#once", "completed"],
      ["both#saves", "in_progress"],
      ["both#two", "waiting"],
    ]);
    expect(inFork?.branches?.map(({ path, status }) => [path, status])).toEqual(
      inAgent?.branches?.map(({ path, status }) => [path, status]),
    );
    for (const agentId of ["a", "b"]) {
      expect(await agent().resume({ agentId })).toMatchObject({ requests: { length: 2 } });
      const one = persistence(agent()).agent(agentId);
      for (const { requestId, prompt } of await one.getRequests()) await one.answer(requestId, prompt);
      expect(await agent().resume({ agentId })).toMatchObject({ output: "1, saves?, first?" });
    }
  });
});
