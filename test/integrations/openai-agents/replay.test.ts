import { Agent, shellTool, tool } from "@openai/agents-core";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { expect, it } from "vitest";
import { z } from "zod";
import { recordsOf } from "../../persistence/support/stored.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

interface Changes {
  readonly isDown?: boolean;
  readonly toolName?: string;
  readonly needsApproval?: boolean;
  readonly prefix?: string;
}

function deskOf({ isDown = false, toolName = "refund", needsApproval = false, prefix = "" }: Changes = {}) {
  const refunds: string[] = [];
  const refund = tool({
    name: toolName,
    description: "Refunds.",
    parameters: z.object({ id: z.string() }),
    needsApproval,
    execute: async ({ id }) => {
      refunds.push(id);
      return `refunded ${prefix}${id}`;
    },
  });
  const model = new FakeModel((items) => {
    if (isDown) return new Error("no model is called in a replay");
    const results = resultsIn(items);
    return results.length < 2 ? [calls("refund", { id: `order-${results.length + 1}` })] : [says(results.join(", "))];
  });
  return { model, refunds, agent: new Agent({ name: "desk", instructions: "Refund.", model, tools: [refund] }) };
}

it("matches the recorded run, without models, tools and writes", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const session = new PersistenceSession({ storage, sessionId: "talk" });
  const runner = new DurableRunner({ storage });
  const { finalOutput } = await runner.run(deskOf().agent, "Refund both.", { agentId: "a", session });
  const items = await session.getItems();
  const log = await recordsOf(storage);
  const { agent, model, refunds } = deskOf({ isDown: true });
  const replay = await runner.replay(agent, { agentId: "a", session });
  expect(replay).toMatchObject({ matches: true, status: "completed" });
  expect(replay.result?.finalOutput).toBe(finalOutput);
  expect([model.requests, refunds]).toEqual([[], []]);
  expect(await session.getItems()).toEqual(items);
  expect(await recordsOf(storage)).toEqual(log);
});

it("matches a waiting run, and then its approved calls", async () => {
  const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
  const { agent } = deskOf({ needsApproval: true });
  const replay = () => runner.replay(deskOf({ isDown: true, needsApproval: true }).agent, { agentId: "a" });
  let { interruptions } = await runner.run(agent, "Refund both.", { agentId: "a" });
  expect(await replay()).toEqual({ matches: true, status: "waiting" });
  while (interruptions.length > 0) {
    for (const { requestId } of await runner.agent("a").getRequests())
      await runner.agent("a").answer(requestId, { approved: true });
    ({ interruptions } = await runner.resume(agent, { agentId: "a" }));
  }
  expect(await replay()).toMatchObject({ matches: true, status: "completed" });
});

it("reports a tool that is gone and an approval that is not recorded", async () => {
  const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
  await runner.run(deskOf().agent, "Refund both.", { agentId: "a" });
  const gone = await runner.replay(deskOf({ isDown: true, toolName: "repay" }).agent, { agentId: "a" });
  expect(gone).toMatchObject({ matches: false, divergence: { what: "call", expected: { toolName: "refund" } } });
  const asking = await runner.replay(deskOf({ isDown: true, needsApproval: true }).agent, { agentId: "a" });
  expect(asking).toMatchObject({ matches: false, divergence: { what: "input" } });
  await expect(runner.replay(deskOf().agent, { agentId: "b" })).rejects.toMatchObject({ code: "run_not_found" });
});

it("refuses an agent whose tools would execute", async () => {
  const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
  const { agent } = deskOf();
  await runner.run(agent, "Refund both.", { agentId: "a" });
  const shell = shellTool({ shell: { run: () => Promise.reject(new Error("no shell in a replay")) } });
  agent.tools.push(shell);
  await expect(runner.replay(agent, { agentId: "a" })).rejects.toMatchObject({
    code: "invalid_input",
    message: expect.stringContaining('no shell tool such as "shell"'),
  });
});
