import {
  persistence,
  type PersistenceEvent,
  strategy,
  tool,
  ToolRejectedError,
  type RunResult,
} from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { requestsOf } from "../support/asking.ts";
import { called, chain } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

/** An agent two deep whose tool needs an approval, beside a sibling that ends when it is let. */
function approving(until: Promise<unknown> = Promise.resolve()) {
  const paid: number[] = [];
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: z.object({ cents: z.int() }),
    effect: "irreversible",
    needsApproval: true,
    execute: ({ cents }) => {
      paid.push(cents);
      return `paid ${cents}`;
    },
  });
  const refused = (error: unknown) => {
    if (error instanceof ToolRejectedError) return `refused: ${error.reason}`;
    throw error;
  };
  const inner = called(
    "inner",
    chain("inner", { pay: (_text, { tools }) => tools.call(pay, { cents: 5 }).catch(refused) }),
    { config: { tools: [pay] } },
  );
  let looks = 0;
  const slow = chain("slow", {
    look: async (text) => {
      looks++;
      await until;
      return text;
    },
  });
  const beside = called("beside", slow);
  const middle = called("middle", chain("middle", { go: (text, { tools }) => tools.call(inner, { topic: text }) }), {
    config: { tools: [inner] },
  });
  const outer = strategy<string, string>("outer", (graph) => {
    const plan = graph.node("plan", async (text: string, { tools }) => {
      const all = await Promise.all([tools.call(middle, { topic: text }), tools.call(beside, { topic: text })]);
      return all.join(", ");
    });
    graph.edge(graph.start, plan);
    graph.edge(plan, graph.finish);
  });
  return { outer, options: { tools: [middle, beside] }, paid, looks: () => looks };
}

const only = (result: RunResult<unknown>) => {
  const [request, ...others] = requestsOf(result);
  if (request?.kind !== "approval" || others.length > 0) throw new Error("It waits for something else.");
  return request;
};

describe.each(logStorages)("$name: approvals in called agents", (storage) => {
  it("are listed with their path two levels deep, and decided from another process", async () => {
    for (const approved of [true, false]) {
      const { outer, options, paid, looks } = approving();
      const opened = await storage.open();
      const agent = () => durableAgent(outer, opened(), options);
      const request = only(await agent().run("x"));
      expect(request).toMatchObject({ agentPath: ["middle", "inner"], toolName: "pay", input: { cents: 5 } });
      expect(await persistence(agent()).agent("a").getRequests()).toEqual([request]);
      const { requestId, digest } = request;
      if (approved) await persistence(agent()).agent("a").answer(requestId, { approved: true }, { digest });
      else await persistence(agent()).reject(requestId, "too much");
      await expect(persistence(agent()).agent("a").answer(requestId, { approved: true })).rejects.toMatchObject({
        code: "request_answered",
      });
      const output = approved ? "paid 5, x" : "refused: too much, x";
      await expect(agent().resume()).resolves.toMatchObject({ output });
      expect(paid).toEqual(approved ? [5] : []);
      // The agent beside it has ended: it does not run again.
      expect(looks()).toBe(1);
    }
  });

  it("are decided in the process that runs them while another agent continues", async () => {
    const end = gate<void>();
    const asked = gate<string>();
    const { outer, options, paid, looks } = approving(end.opened);
    const opened = await storage.open();
    const provider = opened();
    const onEvent = (event: PersistenceEvent) => {
      if (event.type === "request_opened") asked.open(event.requestId);
      // The call two deep has ended: only now the agent beside it may.
      if (event.type === "checkpoint_saved" && event.trigger === "line_ended" && event.agentPath?.at(-1) === "middle")
        end.open();
    };
    const run = durableAgent(outer, provider, { ...options, onEvent }).run("x");
    await persistence(durableAgent(outer, provider, options)).answer(await asked.opened, { approved: true });
    await expect(run).resolves.toMatchObject({ output: "paid 5, x" });
    expect(paid).toEqual([5]);
    expect(looks()).toBe(1);
  });

  it("for the called agent itself are requested before it starts", async () => {
    const nodes: string[] = [];
    const ask = called("ask", chain("inner", { one: (text) => (nodes.push("one"), text) }), { needsApproval: true });
    const outer = chain("outer", { plan: (text, { tools }) => tools.call(ask, { topic: text }) });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    const request = only(await agent().run("x"));
    expect(request).toMatchObject({ toolName: "ask", input: { topic: "x" }, agentPath: [] });
    expect(nodes).toEqual([]);
    await persistence(agent()).answer(request.requestId, { approved: true });
    await expect(agent().resume()).resolves.toMatchObject({ output: "x" });
    expect(nodes).toEqual(["one"]);
  });

  it("wait independently in branches of a called agent and in a called agent of a branch", async () => {
    const asking = (name: string) =>
      strategy<string, string>(name, (graph) => {
        const a = graph.node("a", async (text: string, context) => {
          const said = await context.requestInput({ prompt: `${name} ${text}?`, schema: z.string() });
          return `${text} ${said}`;
        });
        const b = graph.node("b", (text: string) => text.toUpperCase());
        const both = graph.parallel("both", { a, b }, (results) => `${results.a} ${results.b}`);
        graph.edge(graph.start, both);
        graph.edge(both, graph.finish);
      });
    const ask = called("ask", asking("inner"));
    const outer = strategy<string, string>("outer", (graph) => {
      const one = graph.node("one", (text: string, { tools }) => tools.call(ask, { topic: `${text}1` }));
      const two = graph.node("two", (text: string, { tools }) => tools.call(ask, { topic: `${text}2` }));
      const fork = graph.parallel("fork", { one, two }, (results) => `${results.one} | ${results.two}`);
      graph.edge(graph.start, fork);
      graph.edge(fork, graph.finish);
    });
    const opened = await storage.open();
    const agent = () => durableAgent(outer, opened(), { tools: [ask] });
    const waiting = requestsOf(await agent().run("x"));
    expect(waiting).toMatchObject([
      { prompt: "inner x1?", agentPath: ["ask"], branch: "fork#one/both#a" },
      { prompt: "inner x2?", agentPath: ["ask"], branch: "fork#two/both#a" },
    ]);
    await persistence(agent()).answer(waiting[1]?.requestId ?? "", "yes");
    expect(requestsOf(await agent().resume())).toMatchObject([{ prompt: "inner x1?" }]);
    await persistence(agent()).answer(waiting[0]?.requestId ?? "", "no");
    await expect(agent().resume()).resolves.toMatchObject({ output: "x1 no X1 | x2 yes X2" });
  });
});
