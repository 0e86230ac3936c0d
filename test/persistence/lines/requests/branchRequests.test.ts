import { type AgentContext, persistence, strategy, type PersistenceEvent } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../../agent/gate.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { recordsOf } from "../../support/stored.ts";
import { logStorages } from "../../support/storages.ts";
import { World } from "../../support/World.ts";

/** Two branches that ask, and one that ends when it is let. */
function asking(world: World, until: Promise<unknown> = Promise.resolve()) {
  const book = world.adder("book");
  const ask = (name: string) => async (text: string, context: AgentContext) => {
    world.nodes.push(name);
    await context.tools.call(book, { item: name });
    const ok = await context.requestInput({ prompt: `${name} ${text}?`, schema: z.boolean() });
    return `${name} ${ok}`;
  };
  const built = strategy<string, string>("asking", (graph) => {
    const slow = graph.node("slow", async () => {
      world.nodes.push("slow");
      await until;
      return "slow";
    });
    const both = graph.parallel(
      "both",
      { a: graph.node("a", ask("a")), b: graph.node("b", ask("b")), slow },
      (results) => Object.values(results).join(", "),
    );
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
  return { built, options: { tools: [book] } };
}

describe.each(logStorages)("$name: requests of branches", (storage) => {
  it("end the run as waiting once all branches wait, and continue one by one when answered", async () => {
    const world = new World();
    const { built, options } = asking(world);
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), options);
    const first = await agent().run("go", { runId: "r" });
    expect(first).toMatchObject({
      status: "waiting",
      requests: [
        { nodeId: "a", branch: "both#a", agentPath: [], prompt: "a go?" },
        { nodeId: "b", branch: "both#b", agentPath: [], prompt: "b go?" },
      ],
    });
    const requests = await persistence(agent()).agent("a").getRequests();
    expect(requests).toEqual("requests" in first && first.requests);
    await persistence(agent()).answer(requests[1]?.requestId ?? "", true);
    const second = await agent().resume();
    expect(second).toMatchObject({
      status: "waiting",
      requests: [{ branch: "both#a", requestId: requests[0]?.requestId }],
    });
    expect(await agent().resume({ answers: { [requests[0]?.requestId ?? ""]: false } })).toMatchObject({
      output: "a false, b true, slow",
    });
    expect(world.items).toEqual(["a", "b"]);
    expect(world.nodes.filter((node) => node === "slow")).toHaveLength(1);
    const late = persistence(agent())
      .agent("a")
      .answer(requests[0]?.requestId ?? "", true);
    await expect(late).rejects.toMatchObject({ code: "request_answered" });
  });

  it("that are rejected are opened again after a rollback in their branch, which leaves the others", async () => {
    const world = new World();
    const { built, options } = asking(world);
    const opened = await storage.open();
    const agent = () => durableAgent(built, opened(), options);
    const durable = persistence(agent()).agent("a");
    await agent().run("go");
    const [a, b] = await durable.getRequests();
    await durable.answer(a?.requestId ?? "", true);
    await durable.reject(b?.requestId ?? "", "not now");
    await expect(agent().resume()).rejects.toMatchObject({ code: "request_rejected" });
    const own = (await durable.getCheckpoints())
      .filter(({ branch, agentPath }) => branch === b?.branch && String(agentPath) === String(b?.agentPath))
      .at(-1);
    await durable.rollbackToCheckpoint(own?.checkpointId ?? "");
    const asked = await agent().resume();
    expect(asked).toMatchObject({ status: "waiting", requests: [{ branch: "both#b" }] });
    const again = "requests" in asked ? asked.requests[0]?.requestId : undefined;
    expect(again).not.toBe(b?.requestId);
    expect(await agent().resume({ answers: { [again ?? ""]: true } })).toMatchObject({
      output: "a true, b true, slow",
    });
    expect(world.nodes.filter((node) => node === "slow")).toHaveLength(1);
    expect(world.items.filter((item) => item === "a")).toHaveLength(1);
  });

  it("are durable when their line waits, and use an answer in their process at once", async () => {
    const world = new World();
    const events: PersistenceEvent[] = [];
    const [opened2, goesOn, end] = [gate<void>(), gate<void>(), gate<void>()];
    const { built, options } = asking(world, end.opened);
    const opened = await storage.open();
    const onEvent = (event: PersistenceEvent) => {
      events.push(event);
      if (events.filter(({ type }) => type === "request_opened").length === 2) opened2.open();
      if (event.type === "checkpoint_saved" && event.trigger === "after_node") goesOn.open();
    };
    const shared = opened();
    const agent = durableAgent(built, shared, { ...options, onEvent });
    const run = agent.run("go", { runId: "r" });
    await opened2.opened;
    const outside = persistence(durableAgent(built, shared, options));
    const listed = [];
    for await (const request of outside.listRequests()) listed.push(request);
    expect(listed).toMatchObject([
      { agentId: "a", branch: "both#a" },
      { agentId: "a", branch: "both#b" },
    ]);
    const [a, b] = listed.map(({ requestId }) => requestId);
    await outside.agent("a").answer(a ?? "", true);
    await expect(outside.agent("a").answer(a ?? "", true)).rejects.toMatchObject({ code: "request_answered" });
    await outside.agent("a").reject(b ?? "", "not now");
    end.open();
    await expect(run).rejects.toMatchObject({ code: "request_rejected" });
    expect(world.items).toEqual(["a", "b"]);
  });

  it("of one branch cost one append each for the request and the answer", async () => {
    const world = new World();
    const opened2 = gate<void>();
    const { built, options } = asking(world, opened2.opened);
    const opened = await storage.open();
    let asked = 0;
    const onEvent = ({ type }: PersistenceEvent) => void (type === "request_opened" && ++asked === 2 && opened2.open());
    await durableAgent(built, opened(), { ...options, onEvent }).run("go");
    const kinds = (await recordsOf(opened() as never)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "request")).toHaveLength(2);
  });

  it("of a merge within a branch end the run as waiting, and the merge continues when answered", async () => {
    const built = strategy<string, string>("outer", (graph) => {
      const inner = graph.subgraph<string, string>("inner", (within) => {
        const x = within.node("x", (text: string) => text);
        const both = within.parallel("both", { x }, async ({ x: said }, context) =>
          context.requestInput({ prompt: `${said}?`, schema: z.string() }),
        );
        within.edge(within.start, both);
        within.edge(both, within.finish);
      });
      const outer = graph.parallel("outer", { inner }, (results) => results.inner);
      graph.edge(graph.start, outer);
      graph.edge(outer, graph.finish);
    });
    const opened = await storage.open();
    const first = await durableAgent(built, opened()).run("go");
    expect(first).toMatchObject({ requests: [{ nodeId: "inner/both", branch: "outer#inner", prompt: "go?" }] });
    const [request] = "requests" in first ? first.requests : [];
    const answers = { [request?.requestId ?? ""]: "gone" };
    expect(await durableAgent(built, opened()).resume({ answers })).toMatchObject({ output: "gone" });
  });

  it("of two branches are answered at the same time in the process that runs them", async () => {
    const world = new World();
    const [opened2, end] = [gate<void>(), gate<void>()];
    const { built, options } = asking(world, end.opened);
    const opened = await storage.open();
    const shared = opened();
    let asked = 0;
    const onEvent = ({ type }: PersistenceEvent) => void (type === "request_opened" && ++asked === 2 && opened2.open());
    const run = durableAgent(built, shared, { ...options, onEvent }).run("go");
    await opened2.opened;
    const outside = persistence(durableAgent(built, shared, options)).agent("a");
    const requests = await outside.getRequests();
    await Promise.all(requests.map(({ requestId }) => outside.answer(requestId, true)));
    end.open();
    expect(await run).toMatchObject({ output: "a true, b true, slow" });
    expect(world.nodes.filter((node) => node === "a")).toHaveLength(2);
  });
});
