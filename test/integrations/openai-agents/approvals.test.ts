import { Agent, type AgentInputItem, type AgentOutputItem, hostedMcpTool, tool } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider, RequestNotOpenError } from "../../../src/index.ts";
import { DurableRunner, PersistenceSession } from "../../../src/openai-agents.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

function refundTool(refunds: string[], needsApproval: boolean | (() => Promise<boolean>) = true) {
  return tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ id: z.string() }),
    needsApproval,
    execute: async ({ id }) => {
      refunds.push(id);
      return `refunded ${id}`;
    },
  });
}

function lookUpTool(found: string[]) {
  return tool({
    name: "look_up",
    description: "Looks up.",
    parameters: z.object({ id: z.string() }),
    execute: async ({ id }) => {
      found.push(id);
      return `found ${id}`;
    },
  });
}

/** Asks for an order to be looked up and refunded at once, and tells what came of it. */
function deskModel() {
  return new FakeModel((items) => {
    const results = resultsIn(items);
    if (results.length > 0) return [says(results.join(", "))];
    return [calls("look_up", { id: "7" }, "call_1"), calls("refund", { id: "7" }, "call_2")];
  });
}

function desk() {
  const refunds: string[] = [];
  const found: string[] = [];
  const model = deskModel();
  const agent = new Agent({ name: "desk", model, tools: [lookUpTool(found), refundTool(refunds)] });
  const storage = new InMemoryPersistenceStorageProvider();
  const runner = new DurableRunner({ storage });
  return { refunds, found, model, agent, storage, runner };
}

describe("calls that need an approval", () => {
  it("interrupt the run and are made after a resume with the answer", async () => {
    const { agent, runner, refunds, found, model } = desk();
    const first = await runner.run(agent, "Refund.", { agentId: "a" });
    expect(first.interruptions).toHaveLength(1);
    expect(first.interruptions[0]?.agent).toBe(agent);
    const requests = await runner.agent("a").getRequests();
    expect(requests).toMatchObject([{ kind: "approval", toolName: "refund", input: { id: "7" } }]);
    expect(first.interruptions[0]?.rawItem).toMatchObject({
      callId: (requests[0] as { toolCallId: string }).toolCallId,
    });
    await runner.agent("a").answer(requests[0]?.requestId ?? "", { approved: true });
    const resumed = await runner.resume(agent, { agentId: "a" });
    expect(resumed.finalOutput).toBe("found 7, refunded 7");
    expect(refunds).toEqual(["7"]);
    expect(found).toEqual(["7"]);
    expect(model.requests).toHaveLength(2);
    const again = await runner.resume(agent, { agentId: "a" });
    expect(again.finalOutput).toBe(resumed.finalOutput);
    expect(refunds).toEqual(["7"]);
  });

  it("are reported to the model as rejected, with the reason", async () => {
    const { agent, runner, refunds } = desk();
    await runner.run(agent, "Refund.", { agentId: "a" });
    const [request] = await runner.agent("a").getRequests();
    await runner.agent("a").answer(request?.requestId ?? "", { approved: false, reason: "Too much." });
    const resumed = await runner.resume(agent, { agentId: "a" });
    expect(resumed.finalOutput).toBe("found 7, Too much.");
    expect(refunds).toEqual([]);
  });

  it("are not made after a rejection, even if the tool needs no approval any longer", async () => {
    const refunds: string[] = [];
    let isNeeded = true;
    const tools = [lookUpTool([]), refundTool(refunds, async () => isNeeded)];
    const agent = new Agent({ name: "desk", model: deskModel(), tools });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    await runner.run(agent, "Refund.", { agentId: "a" });
    const [request] = await runner.agent("a").getRequests();
    await runner.agent("a").answer(request?.requestId ?? "", { approved: false, reason: "Too much." });
    isNeeded = false;
    expect((await runner.resume(agent, { agentId: "a" })).finalOutput).toContain("Too much.");
    expect(refunds).toEqual([]);
  });

  it("are listed again until they are answered, in a run or a resume", async () => {
    const { agent, runner, model } = desk();
    await runner.run(agent, "Refund.", { agentId: "a" });
    const resumed = await runner.resume(agent, { agentId: "a" });
    const run = await runner.run(agent, "Refund.", { agentId: "a" });
    for (const { interruptions } of [resumed, run]) expect(interruptions.map(({ name }) => name)).toEqual(["refund"]);
    expect(model.requests).toHaveLength(1);
  });

  it("accept answers in the resume, even as a stream", async () => {
    const { agent, runner } = desk();
    const first = await runner.run(agent, "Refund.", { agentId: "a", stream: true });
    await first.completed;
    expect(first.interruptions).toHaveLength(1);
    const [request] = await runner.agent("a").getRequests();
    const answers = { [request?.requestId ?? ""]: { approved: true } };
    const resumed = await runner.resume(agent, { agentId: "a", answers, stream: true });
    const texts: string[] = [];
    for await (const text of resumed.toTextStream()) texts.push(text);
    expect(texts.join("")).toBe("found 7, refunded 7");
    expect(resumed.finalOutput).toBe("found 7, refunded 7");
    await expect(runner.resume(agent, { agentId: "a", answers })).rejects.toThrow(RequestNotOpenError);
  });

  it("of an agent as a tool interrupt the whole run, which continues within the tool", async () => {
    const refunds: string[] = [];
    const inner = deskModel();
    const helper = new Agent({ name: "helper", model: inner, tools: [lookUpTool([]), refundTool(refunds)] });
    const outer = new FakeModel((items) => {
      const results = resultsIn(items);
      return results.length === 0 ? [calls("ask_helper", { input: "Refund." })] : [says(`helper: ${results.join()}`)];
    });
    const tools = [helper.asTool({ toolName: "ask_helper", toolDescription: "Helps." })];
    const agent = new Agent({ name: "desk", model: outer, tools });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "Refund.", { agentId: "a" });
    expect(first.interruptions.map(({ name }) => name)).toEqual(["refund"]);
    const [request] = await runner.agent("a").getRequests();
    await runner.agent("a").answer(request?.requestId ?? "", { approved: true });
    const resumed = await runner.resume(agent, { agentId: "a" });
    expect(resumed.finalOutput).toBe("helper: found 7, refunded 7");
    expect(refunds).toEqual(["7"]);
    expect([outer.requests.length, inner.requests.length]).toEqual([2, 2]);
  });

  it("are answered one after the other if several agents as tools make them, one of them streamed", async () => {
    const refunds: string[] = [];
    const helper = (order: string, streamed: boolean) => {
      const model = new FakeModel((items) => {
        const results = resultsIn(items);
        return results.length === 0 ? [calls("refund", { id: order })] : [says(results.join())];
      });
      const agent = new Agent({ name: order, model, tools: [refundTool(refunds)] });
      const named = { toolName: `ask_${order}`, toolDescription: "Helps." };
      return agent.asTool({ ...named, ...(streamed && { onStream: () => {} }) });
    };
    const model = new FakeModel((items) => {
      const results = resultsIn(items);
      if (results.length > 0) return [says(results.join(", "))];
      return ["x", "y"].map((order) => calls(`ask_${order}`, { input: "Refund." }, order));
    });
    const agent = new Agent({ name: "desk", model, tools: [helper("x", false), helper("y", true)] });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    let { interruptions, finalOutput } = await runner.run<Agent, undefined>(agent, "Refund.", { agentId: "a" });
    const waited = [interruptions.length];
    while (interruptions.length > 0) {
      const [request] = await runner.agent("a").getRequests();
      await runner.agent("a").answer(request?.requestId ?? "", { approved: true });
      ({ interruptions, finalOutput } = await runner.resume<Agent, undefined>(agent, { agentId: "a" }));
      waited.push(interruptions.length);
    }
    expect(waited).toEqual([2, 1, 0]);
    expect(finalOutput).toBe("refunded x, refunded y");
    expect(refunds).toEqual(["x", "y"]);
  });

  it("with a needsApproval function pass it the parsed input", async () => {
    const asked: unknown[] = [];
    const refund = tool({
      name: "refund",
      description: "Refunds.",
      parameters: z.object({ id: z.string().trim() }),
      needsApproval: async (_context, input) => {
        asked.push(input);
        return false;
      },
      execute: async ({ id }) => id,
    });
    const model = new FakeModel((items) => {
      const results = resultsIn(items);
      return results.length === 0 ? [calls("refund", { id: " a " })] : [says(results.join())];
    });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const { finalOutput } = await runner.run(new Agent({ name: "desk", model, tools: [refund] }), "Go.", {
      agentId: "a",
    });
    expect(finalOutput).toBe("a");
    expect(asked).toEqual([{ id: "a" }]);
  });

  it("add the previous messages to the session once over repeated runs", async () => {
    const { agent, runner, storage } = desk();
    await using session = new PersistenceSession({ storage, sessionId: "talk" });
    await runner.run(agent, "Refund.", { agentId: "a", session });
    await runner.resume(agent, { agentId: "a", session });
    const [request] = await runner.agent("a").getRequests();
    await runner.agent("a").answer(request?.requestId ?? "", { approved: true });
    await runner.resume(agent, { agentId: "a", session });
    const kinds = async () => (await session.getItems()).map((item) => item.type ?? "message");
    const expected = [
      "message",
      "function_call",
      "function_call",
      "function_call_result",
      "function_call_result",
      "message",
    ];
    expect(await kinds()).toEqual(expected);
    await runner.resume(agent, { agentId: "a", session });
    expect(await kinds()).toEqual(expected);
  });

  it.each([true, false])(
    "of a hosted MCP tool are requested and sent to its provider (approved: %s)",
    async (approved) => {
      const asked: AgentOutputItem = {
        type: "hosted_tool_call",
        id: "mcpr_1",
        name: "mcp_approval_request",
        status: "completed",
        providerData: {
          id: "mcpr_1",
          type: "mcp_approval_request",
          server_label: "crm",
          name: "close_account",
          arguments: '{"id":"7"}',
        },
      };
      const answersIn = (items: readonly AgentInputItem[]) =>
        items.flatMap((item) =>
          item.type === "hosted_tool_call" && item.name === "mcp_approval_response" ? [item.providerData] : [],
        );
      const model = new FakeModel((items) => (answersIn(items).length > 0 ? [says("done")] : [asked]));
      const crm = hostedMcpTool({ serverLabel: "crm", serverUrl: "http://localhost", requireApproval: "always" });
      const agent = new Agent({ name: "desk", model, tools: [crm] });
      const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
      const first = await runner.run(agent, "Close it.", { agentId: "a" });
      expect(first.interruptions.map(({ rawItem }) => rawItem.type)).toEqual(["hosted_tool_call"]);
      const [request] = await runner.agent("a").getRequests();
      expect(request).toMatchObject({ kind: "approval", toolName: "close_account", input: { id: "7" } });
      const answers = { [request?.requestId ?? ""]: approved ? { approved } : { approved, reason: "Keep it." } };
      const resumed = await runner.resume(agent, { agentId: "a", answers });
      expect(resumed.finalOutput).toBe("done");
      const reason = approved ? undefined : "Keep it.";
      expect(answersIn(model.requests[1]?.input as AgentInputItem[])).toEqual([
        { approve: approved, approval_request_id: "mcpr_1", reason },
      ]);
      expect((await runner.resume(agent, { agentId: "a" })).finalOutput).toBe("done");
      expect(model.requests).toHaveLength(2);
    },
  );
});
