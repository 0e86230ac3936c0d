import {
  type AgentContext,
  type AIAgent,
  persistence,
  type PersistenceEvent,
  type PersistenceStorageProvider,
  strategy,
  type Strategy,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../../agent/gate.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { logStorages } from "../../support/storages.ts";

const ask = (prompt: string, context: AgentContext) => context.requestInput({ prompt, schema: z.string() });

/** An agent, and the ids of the requests that it has opened. */
function watched(built: Strategy<string, string>, storage: PersistenceStorageProvider, opened = Infinity) {
  const ids: string[] = [];
  const all = gate<void>();
  const onEvent = (event: PersistenceEvent) => {
    if (event.type === "request_opened" && ids.push(event.requestId) === opened) all.open();
  };
  const agent: AIAgent<string, string> = durableAgent(built, storage, { onEvent, maxIterations: 10_000 });
  return { agent, ids, opened: all.opened };
}

/** Branch `a` asks; branch `b` does what it is given. */
function beside(b: (context: AgentContext) => Promise<string>): Strategy<string, string> {
  return strategy<string, string>("beside", (graph) => {
    const asks = graph.node("a", (_: string, context: AgentContext) => ask("a?", context));
    const other = graph.node("b", (_: string, context: AgentContext) => b(context));
    const both = graph.parallel("both", { a: asks, b: other }, ({ a, b: second }) => `${a} ${second}`);
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
}

/** Branch `a` is answered, and branch `b` goes on before the answer is durable. */
async function answeredWhile(built: Strategy<string, string>, storage: PersistenceStorageProvider, goOn: () => void) {
  const { agent, ids, opened } = watched(built, storage, 1);
  const run = agent.run("go");
  await opened;
  const durable = persistence(agent).agent("a");
  const answered = durable.answer(ids[0] ?? "", "A");
  goOn();
  await answered;
  return { run, durable };
}

describe.each(logStorages)("$name: answers in the process that runs the agent", (storage) => {
  it("continue their line even if the last other line ends before they are durable", async () => {
    const held = gate<void>();
    const opened = await storage.open();
    const built = beside(async () => {
      await held.opened;
      return "b";
    });
    const agent = await answeredWhile(built, opened(), held.open);
    expect(await agent.run).toMatchObject({ status: "completed", output: "A b" });
  });

  it("continue their line even if the last other line starts to wait before they are durable", async () => {
    const held = gate<void>();
    const opened = await storage.open();
    const built = beside(async (context) => {
      await held.opened;
      return ask("b?", context);
    });
    const agent = await answeredWhile(built, opened(), held.open);
    expect(await agent.run).toMatchObject({ status: "waiting", requests: [{ prompt: "b?" }] });
    const latest = await agent.durable.getLatestCheckpoint();
    expect(latest?.branches).toMatchObject([
      { path: "both#a", status: "completed" },
      { path: "both#b", status: "waiting" },
    ]);
  });

  it("find each of many requests, listed or not", async () => {
    const many = 105;
    const held = gate<void>();
    const opened = await storage.open();
    const built = strategy<string, string>("many", (graph) => {
      const one = graph.node("one", async (item: number, context: AgentContext) => {
        if (item < many) return ask(`${item}?`, context);
        await held.opened;
        return "held";
      });
      const all = graph.each("all", one, (results: readonly string[]) => results.join(""));
      graph.edge(graph.start, all, { map: () => Array.from({ length: many + 1 }, (_, at) => at) });
      graph.edge(all, graph.finish);
    });
    const shared = opened();
    const { agent, ids, opened: asked } = watched(built, shared, many);
    const run = agent.run("go");
    await asked;
    const outside = persistence(durableAgent(built, shared));
    const listed = new Set((await outside.agent("a").getRequests()).map(({ requestId }) => requestId));
    expect([...listed].toSorted()).toEqual(ids.toSorted());
    // The newest first: the status does not list it yet.
    for (const id of ids.toReversed()) await outside.answer(id, ".");
    held.open();
    expect(await run).toMatchObject({ output: `${".".repeat(many)}held` });
  });

  it("are refused for requests that a rollback has dropped", async () => {
    const [gone, held] = [gate<void>(), gate<void>()];
    const opened = await storage.open();
    let rounds = 0;
    const built = strategy<string, string>("back", (graph) => {
      const before = graph.node("before", async (text: string) => {
        if (rounds++ > 0) {
          gone.open();
          await held.opened;
        }
        return text;
      });
      const asks = graph.node("a", (_: string, context: AgentContext) => ask("a?", context));
      const back = graph.node("b", async (_: string, context: AgentContext) => {
        if (rounds > 1) return "b";
        await asked;
        const [first] = await persistence(context).getCheckpoints();
        return persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "");
      });
      const both = graph.parallel("both", { a: asks, b: back }, ({ a, b }) => `${a} ${b as string}`);
      graph.edge(graph.start, before);
      graph.edge(before, both);
      graph.edge(both, graph.finish);
    });
    const { agent, ids, opened: asked } = watched(built, opened(), 1);
    const run = agent.run("go");
    await gone.opened;
    const answered = persistence(agent)
      .agent("a")
      .answer(ids[0] ?? "", "A");
    await expect(answered).rejects.toMatchObject({ code: "request_not_found" });
    held.open();
    expect(await run).toMatchObject({ status: "waiting", requests: [{ prompt: "a?" }] });
  });
});

describe.each(logStorages)("$name: answers to an agent that waits", (storage) => {
  it("are all accepted if one process gives them at once", async () => {
    const opened = await storage.open();
    const built = strategy<string, string>("form", (graph) => {
      const fields = graph.node("fields", async (_: string, context: AgentContext) =>
        (await Promise.all(Array.from({ length: 20 }, (_field, at) => ask(`${at}?`, context)))).join(),
      );
      graph.edge(graph.start, fields);
      graph.edge(fields, graph.finish);
    });
    const agent = durableAgent(built, opened());
    await agent.run("go");
    const durable = persistence(agent).agent("a");
    const requests = await durable.getRequests();
    await Promise.all(
      requests.map(({ requestId, prompt }) => durable.answer(requestId, prompt, { timeoutMs: 60_000 })),
    );
    expect(await agent.resume()).toMatchObject({ output: requests.map(({ prompt }) => prompt).join() });
  });
});
