import {
  type AgentContext,
  type AIAgent,
  type DurableAgent,
  persistence,
  type PendingRequest,
  strategy,
  tool,
  triggers,
} from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { RunSuspendedError } from "agent-persistence/feature";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../../agent/gate.ts";
import { asking, idOf, requestsOf } from "../support/asking.ts";
import { durableAgent, type DurableOptions, Fault } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages, type Opened } from "../support/storages.ts";

const item = z.object({ item: z.string() });

/** A tool that pays once somebody has approved it, and what was paid outside. */
function payTool(before: () => unknown = () => undefined) {
  const paid: string[] = [];
  const pay = tool({
    name: "pay",
    description: "",
    inputSchema: item,
    effect: "irreversible",
    needsApproval: true,
    async execute(input, { toolCallId }) {
      await before();
      paid.push(toolCallId);
      return `paid ${input.item}`;
    },
  });
  return { pay, paid };
}

type Bank = ReturnType<typeof payTool>;

/** Pays for a message of a model, or by code. */
const payers = {
  model: asking(async (_, { llm, tools }) => {
    const answer = await llm.request();
    llm.append(answer, await tools.execute(answer));
    return "paid";
  }),
  code: ({ pay }: Bank) => asking((_, { tools }: AgentContext) => tools.call(pay, { item: "bill" })),
};

const turns = [{ toolCalls: [{ toolName: "pay", input: { item: "bill" } }] }];

type Agent = () => AIAgent<string, string>;

function agentsOf(opened: Opened<LogPersistenceStorageProvider>, bank: Bank, options: DurableOptions = {}): Agent {
  return () => durableAgent(payers.code(bank), opened(), { tools: [bank.pay], ...options });
}

const at = (agent: Agent, agentId = "a") => persistence(agent()).agent(agentId);

async function approve(durable: DurableAgent): Promise<void> {
  const [request, ...others] = await durable.getRequests();
  if (request?.kind !== "approval" || others.length > 0) throw new Error("It does not wait for one approval.");
  await durable.answer(request.requestId, { approved: true }, { digest: request.digest });
}

/** Whether a fork asks: it lists its request, and a resume neither pays nor ends. Then it is approved and pays. */
async function asksThenPays(agent: Agent, bank: Bank, agentId: string): Promise<void> {
  const before = [...bank.paid];
  const requests = requestsOf(await agent().resume({ agentId }));
  expect(requests.map(({ kind }) => kind)).toEqual(["approval"]);
  expect(bank.paid).toEqual(before);
  await approve(at(agent, agentId));
  expect(await agent().resume({ agentId })).toMatchObject({ status: "completed" });
  expect(bank.paid).toHaveLength(before.length + 1);
  expect(new Set(bank.paid).size).toBe(bank.paid.length);
}

describe.each(logStorages)("$name: an approval of an agent's call", (storage) => {
  it.each(["model", "code"] as const)("does not count for its forks, for a call by %s", async (by) => {
    const [opened, bank] = [await storage.open(), payTool()];
    const built = by === "model" ? payers.model : payers.code(bank);
    const agent: Agent = () => durableAgent(built, opened(), { tools: [bank.pay], turns });
    const asked = idOf(await agent().run("go"));
    await approve(at(agent));
    const f1 = await at(agent).fork("f1");
    await at(agent).fork("f2");
    await f1.fork("f3");
    const ids = await Promise.all(["f1", "f2", "f3"].map(async (id) => (await at(agent, id).getRequests())[0]));
    expect(new Set([asked, ...ids.map((request) => request?.requestId)]).size).toBe(4);
    for (const agentId of ["a", "f1", "f2", "f3"]) await agent().resume({ agentId });
    expect(bank.paid).toHaveLength(1);
    for (const agentId of ["f1", "f2", "f3"]) await asksThenPays(agent, bank, agentId);
  });

  it("does not count for a fork of an approved fork", async () => {
    const [opened, bank] = [await storage.open(), payTool()];
    const agent = agentsOf(opened, bank);
    await agent().run("go");
    const b = await at(agent).fork("b");
    await approve(b);
    await b.fork("c");
    for (const agentId of ["a", "b", "c"]) await agent().resume({ agentId });
    expect(bank.paid).toHaveLength(1);
    await asksThenPays(agent, bank, "c");
  });

  it("does not count for a fork made while the call runs", async () => {
    const [opened, running, released] = [await storage.open(), gate(), gate()];
    const bank = payTool(() => {
      running.open();
      return released.opened;
    });
    const agent = agentsOf(opened, bank);
    await agent().run("go");
    await approve(at(agent));
    const ended = agent().resume();
    await running.opened;
    await at(agent).fork("b");
    released.open();
    expect(await ended).toMatchObject({ output: "paid bill" });
    await asksThenPays(agent, bank, "b");
  });

  it("does not count for a fork made after the call failed", async () => {
    const [opened, fault] = [await storage.open(), new Fault()];
    const bank = payTool(() => fault.strike());
    const agent = agentsOf(opened, bank);
    await agent().run("go");
    await approve(at(agent));
    await expect(agent().resume()).rejects.toThrow("stopped");
    await at(agent).fork("b");
    fault.repair();
    await asksThenPays(agent, bank, "b");
    expect(await agent().resume()).toMatchObject({ output: "paid bill" });
    expect(bank.paid).toHaveLength(2);
  });

  it("does not count for a fork at a checkpoint saved with the answer, nor after a rollback to it", async () => {
    const [opened, bank] = [await storage.open(), payTool()];
    const agent = agentsOf(opened, bank, { triggers: [triggers.afterUserInteraction()] });
    await agent().run("go");
    await approve(at(agent));
    await agent().resume();
    const saved = (await at(agent).getCheckpoints()).find(({ trigger }) => trigger === "after_user_interaction");
    const checkpointId = saved?.checkpointId ?? "none";
    const b = await at(agent).fork("b", { checkpointId });
    await asksThenPays(agent, bank, "b");
    const c = await at(agent).fork("c");
    await c.rollbackToCheckpoint(checkpointId);
    await asksThenPays(agent, bank, "c");
    await b.fork("d", { checkpointId });
    await asksThenPays(agent, bank, "d");
    expect(bank.paid).toHaveLength(4);
  });

  it("does not count for a fork in another storage", async () => {
    const [opened, other, bank] = [await storage.open(), await storage.open(), payTool()];
    const [agent, there] = [agentsOf(opened, bank), agentsOf(other, bank)];
    await agent().run("go");
    await approve(at(agent));
    await importAgent(other(), exportAgent(opened(), "a"), { agentId: "b" });
    await agent().resume();
    await asksThenPays(there, bank, "b");
  });

  it("does not count for a fork that fails with the call and makes it again", async () => {
    const [opened, fault, failed, released] = [await storage.open(), new Fault(), gate(), gate()];
    const bank = payTool(() => fault.strike());
    const built = asking(async (_, { tools }) => {
      try {
        return await tools.call(bank.pay, { item: "bill" });
      } catch (error) {
        if (error instanceof RunSuspendedError) throw error;
        failed.open();
        await released.opened;
        throw error;
      }
    });
    const agent: Agent = () => durableAgent(built, opened(), { tools: [bank.pay] });
    await agent().run("go");
    await approve(at(agent));
    const ended = agent().resume();
    await failed.opened;
    const kinds = async () => (await recordsOf(opened())).map(({ kind }) => kind);
    await expect.poll(kinds).toContain("outcome");
    await at(agent).fork("b");
    released.open();
    await expect(ended).rejects.toThrow("stopped");
    fault.repair();
    await expect(agent().resume({ agentId: "b" })).rejects.toThrow("stopped");
    await asksThenPays(agent, bank, "b");
  });

  it("is requested again with a new expiry if it has expired", async () => {
    const [opened, clock, paid] = [await storage.open(), new SimulatedClock(), [] as string[]];
    const pay = tool({
      name: "pay",
      description: "",
      inputSchema: item,
      effect: "irreversible",
      needsApproval: () => ({ expiresAt: new Date(clock.now() + 1_000) }),
      execute: (_, { toolCallId }) => `paid ${paid.push(toolCallId)}`,
    });
    const agent = agentsOf(opened, { pay, paid } as never, { clock });
    await agent().run("go");
    await approve(at(agent));
    clock.advance(2_000);
    const b = await at(agent).fork("b");
    expect(await b.getRequests()).toEqual([]);
    const [request] = requestsOf(await agent().resume({ agentId: "b" }));
    expect(Date.parse(request?.expiresAt ?? "")).toBe(clock.now() + 1_000);
  });

  it("does not count for a fork with branches after one branch has paid", async () => {
    const [opened, bank] = [await storage.open(), payTool()];
    const built = strategy<string, string>("both", (graph) => {
      const node = (name: string) =>
        graph.node(name, (_: string, { tools }: AgentContext) => tools.call(bank.pay, { item: name }));
      const branches = { left: node("left"), right: node("right") };
      const both = graph.parallel("both", branches, ({ left, right }) => `${left}, ${right}`);
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const agent: Agent = () => durableAgent(built, opened(), { tools: [bank.pay] });
    const isOf = (branch: string) => (request: PendingRequest) => request.branch?.includes(branch) ?? false;
    const requests = requestsOf(await agent().run("go"));
    const left = requests.find(isOf("left"))?.requestId ?? "";
    await agent().resume({ answers: { [left]: { approved: true } } });
    expect(bank.paid).toHaveLength(1);
    await approve(at(agent));
    await at(agent).fork("b");
    const [asked, ...others] = requestsOf(await agent().resume({ agentId: "b" }));
    expect([asked?.kind, others, asked && isOf("right")(asked)]).toEqual(["approval", [], true]);
    expect(bank.paid).toHaveLength(1);
    await asksThenPays(agent, bank, "b");
  });
});

describe.each(logStorages)("$name: a fork keeps", (storage) => {
  it.each([
    ["plain", "too much"],
    ["long", `too much${"!".repeat(20_000)}`],
    ["no", undefined],
  ])("a rejection with %s reason", async (_kind, reason) => {
    const [opened, bank] = [await storage.open(), payTool()];
    const built = asking(async (_, { tools }) => {
      const first = await tools.call(bank.pay, { item: "bill" }).catch(({ message }: Error) => message);
      return `${first} ${await tools.call(bank.pay, { item: "tip" })}`;
    });
    const agent: Agent = () => durableAgent(built, opened(), { tools: [bank.pay] });
    const asked = idOf(await agent().run("go"));
    await agent().resume({ answers: { [asked]: { approved: false, reason } } });
    await at(agent).fork("b");
    const [tip] = requestsOf(await agent().resume({ agentId: "b" }));
    expect(tip?.kind === "approval" && tip.input).toEqual({ item: "tip" });
    await approve(at(agent, "b"));
    expect(await agent().resume({ agentId: "b" })).toMatchObject({
      output: expect.stringContaining(reason ?? "it was not approved") as string,
    });
    expect(bank.paid).toHaveLength(1);
  });

  it("an answer to a request for input", async () => {
    const opened = await storage.open();
    const built = asking(async (_, context) => {
      const size = await context.requestInput({ prompt: "size?", schema: z.string() });
      return `${size} ${await context.requestInput({ prompt: "color?", schema: z.string() })}`;
    });
    const agent: Agent = () => durableAgent(built, opened());
    const asked = idOf(await agent().run("go"));
    await at(agent).answer(asked, "M");
    await at(agent).fork("b");
    const color = idOf(await agent().resume({ agentId: "b" }));
    expect(await agent().resume({ agentId: "b", answers: { [color]: "red" } })).toMatchObject({ output: "M red" });
  });
});
