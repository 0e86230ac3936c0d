import {
  Agent,
  attachClientToolSearchExecutor,
  hostedMcpTool,
  MaxTurnsExceededError,
  ModelBehaviorError,
  Runner,
  RunState,
  tool,
} from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner } from "../../../src/openai-agents.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

type Step = readonly (readonly [callId: string, to: string])[];

function payTool(paid: string[], name = "pay") {
  return tool({
    name,
    description: "Pays.",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: ({ to }) => `paid ${(paid.push(to), to)}`,
  });
}

/** A desk that pays the people of each step, and then says the results. */
function world(
  steps: readonly Step[] = [
    [
      ["call_1", "Ann"],
      ["call_2", "Bob"],
    ],
  ],
) {
  const storage = new InMemoryPersistenceStorageProvider();
  const paid: string[] = [];
  const counts = steps.map((_, index) => steps.slice(0, index).flat().length);
  const model = new FakeModel((items) => {
    const seen = resultsIn(items);
    const step = steps[counts.indexOf(seen.length)];
    return step ? step.map(([callId, to]) => calls("pay", { to }, callId)) : [says(seen.join())];
  });
  const agent = new Agent({ name: "desk", model, tools: [payTool(paid)] });
  return { storage, runner: new DurableRunner({ storage }), paid, agent, model };
}

const oneByOne: readonly Step[] = [[["call_1", "Ann"]], [["call_2", "Bob"]], [["call_3", "Cem"]]];

describe("A RunState as the input of a durable run", () => {
  it.each([false, true])("resumes the run with the decisions of the state (from its text: %s)", async (fromText) => {
    const { runner, paid, agent, model } = world();
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    const [ann, bob] = first.state.getInterruptions();
    first.state.approve(ann!);
    first.state.reject(bob!, { message: "not Bob" });
    const state = fromText
      ? await RunState.fromString<undefined, typeof agent>(agent, first.state.toString())
      : first.state;
    const result = await runner.run(agent, state, { agentId: "a" });
    expect(result.finalOutput).toBe("paid Ann,not Bob");
    expect(paid).toEqual(["Ann"]);
    expect(model.requests).toHaveLength(2);
    expect(result.state.usage.totalTokens).toBe(30);
  });

  it.each([false, true])(
    "decides a call whose request an abort kept from being stored (text: %s)",
    async (fromText) => {
      const { runner, paid } = world();
      const controller = new AbortController();
      const model = new FakeModel((items) => {
        const seen = resultsIn(items);
        return seen.length > 0
          ? [says(seen.join())]
          : [calls("look", {}, "call_1"), calls("pay", { to: "Ann" }, "call_2")];
      });
      const look = tool({
        name: "look",
        description: "Looks.",
        parameters: z.object({}),
        execute: () => (controller.abort(), "seen"),
      });
      const agent = new Agent({ name: "desk", model, tools: [look, payTool(paid)] });
      const { signal } = controller;
      const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true, signal });
      await stream.completed;
      expect(stream.interruptions).toHaveLength(1);
      expect(await runner.agent("a").getRequests()).toEqual([]);
      for (const item of stream.interruptions) stream.state.approve(item);
      const state = fromText
        ? await RunState.fromString<undefined, typeof agent>(agent, stream.state.toString())
        : stream.state;
      const { finalOutput } = await runner.run(agent, state, { agentId: "a" });
      expect(finalOutput).toBe("seen,paid Ann");
      expect(paid).toEqual(["Ann"]);
    },
  );

  it("resumes in another process from the text of the state, and again after the run is finished", async () => {
    const { storage, paid, agent } = world();
    const first = await new DurableRunner({ storage }).run(agent, "Go.", { agentId: "a", context: { user: 7 } });
    for (const item of first.interruptions) first.state.approve(item);
    const text = first.state.toString();
    for (let attempt = 0; attempt < 2; attempt++) {
      const state = await RunState.fromString(agent, text);
      const result = await new DurableRunner({ storage }).run(agent, state, { agentId: "a" });
      expect(result.finalOutput).toBe("paid Ann,paid Bob");
      expect(result.runContext.context).toEqual({ user: 7 });
    }
    expect(paid).toEqual(["Ann", "Bob"]);
  });

  it.each([false, true])("approves later calls of a tool through alwaysApprove (streamed: %s)", async (stream) => {
    const { runner, storage, paid, agent } = world(oneByOne);
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!, { alwaysApprove: true });
    const state = await RunState.fromString(agent, first.state.toString());
    if (stream) {
      const result = await runner.run(agent, state, { agentId: "a", stream });
      const called: unknown[] = [];
      for await (const event of result) {
        if (event.type !== "run_item_stream_event" || event.name !== "tool_called") continue;
        called.push("arguments" in event.item.rawItem! ? event.item.rawItem.arguments : undefined);
      }
      expect(called).toEqual(['{"to":"Ann"}', '{"to":"Bob"}', '{"to":"Cem"}']);
      expect(result.finalOutput).toBe("paid Ann,paid Bob,paid Cem");
    } else {
      const result = await runner.run(agent, state, { agentId: "a" });
      expect(result.finalOutput).toBe("paid Ann,paid Bob,paid Cem");
    }
    expect(paid).toEqual(["Ann", "Bob", "Cem"]);
    const requests = [];
    for await (const request of new DurableRunner({ storage }).unfinished()) requests.push(request);
    expect(requests).toEqual([]);
  });

  it("rejects later calls of a tool through alwaysReject, with its message", async () => {
    const { runner, paid, agent } = world(oneByOne);
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.reject(first.interruptions[0]!, { alwaysReject: true, message: "no money" });
    const result = await runner.run(agent, first.state, { agentId: "a" });
    expect(result.finalOutput).toBe("no money,no money,no money");
    expect(paid).toEqual([]);
  });

  it("keeps waiting for the calls that the state does not decide, and lists only these", async () => {
    const { runner, paid, agent } = world();
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!);
    const second = await runner.run(agent, first.state, { agentId: "a" });
    expect(await runner.agent("a").getRequests()).toMatchObject([{ input: { to: "Bob" } }]);
    expect(second.interruptions).toMatchObject([{ arguments: '{"to":"Bob"}' }]);
    const state = await RunState.fromString(agent, second.state.toString());
    state.approve(state.getInterruptions()[0]!);
    await runner.run(agent, state, { agentId: "a" });
    expect(paid.toSorted()).toEqual(["Ann", "Bob"]);
  });

  it("keeps alwaysApprove in the state of a run that waits for another tool", async () => {
    const paid: string[] = [];
    const waited: string[] = [];
    const model = new FakeModel((items) => {
      const next = [calls("pay", { to: "Ann" }), calls("wait", { to: "Cem" }), calls("pay", { to: "Bob" })][
        resultsIn(items).length
      ];
      return next ? [next] : [says("done")];
    });
    const agent = new Agent({ name: "desk", model, tools: [payTool(paid), payTool(waited, "wait")] });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!, { alwaysApprove: true });
    const second = await runner.run(agent, first.state, { agentId: "a" });
    expect(second.interruptions).toMatchObject([{ name: "wait" }]);
    const state = await RunState.fromString(agent, second.state.toString());
    state.approve(state.getInterruptions()[0]!);
    expect((await runner.run(agent, state, { agentId: "a" })).finalOutput).toBe("done");
    expect([paid, waited]).toEqual([["Ann", "Bob"], ["Cem"]]);
  });

  it("lists the approval inside an agent as a tool after an approval of the run itself", async () => {
    const paid: string[] = [];
    const helper = new Agent({
      name: "helper",
      model: new FakeModel((items) => (resultsIn(items).length > 0 ? [says("helped")] : [calls("pay", { to: "Bob" })])),
      tools: [payTool(paid)],
    });
    const model = new FakeModel((items) => {
      const next = [calls("pay", { to: "Ann" }), calls("ask", { input: "Help." })][resultsIn(items).length];
      return [next ?? says("done")];
    });
    const ask = helper.asTool({ toolName: "ask", toolDescription: "Asks." });
    const agent = new Agent({ name: "desk", model, tools: [payTool(paid), ask] });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!);
    const second = await runner.run(agent, first.state, { agentId: "a" });
    expect(second.interruptions).toMatchObject([{ arguments: '{"to":"Bob"}' }]);
    expect(second.interruptions[0]?.agent).toBe(helper);
    const state = await RunState.fromString(agent, second.state.toString());
    state.approve(state.getInterruptions()[0]!);
    expect((await runner.run(agent, state, { agentId: "a" })).finalOutput).toBe("done");
    expect(paid).toEqual(["Ann", "Bob"]);
  });

  it("decides calls of a handoff target from the text of the state", async () => {
    const paid: string[] = [];
    const target = new Agent({
      name: "cashier",
      model: new FakeModel((items) => (resultsIn(items).length > 1 ? [says("done")] : [calls("pay", { to: "Ann" })])),
      tools: [payTool(paid)],
    });
    const agent = new Agent({
      name: "desk",
      model: new FakeModel(() => [calls("transfer_to_cashier", {})]),
      handoffs: [target],
    });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    expect(first.lastAgent).toBe(target);
    expect(first.newItems.find(({ type }) => type === "handoff_output_item")).toMatchObject({ sourceAgent: agent });
    first.state.approve(first.interruptions[0]!);
    const state = await RunState.fromString(agent, first.state.toString());
    const result = await runner.run(agent, state, { agentId: "a" });
    expect(result.finalOutput).toBe("done");
    expect(paid).toEqual(["Ann"]);
  });

  it("decides a call of a hosted MCP tool", async () => {
    const approval = {
      type: "hosted_tool_call",
      name: "mcp_approval_request",
      id: "mcpr_1",
      providerData: {
        type: "mcp_approval_request",
        id: "mcpr_1",
        server_label: "files",
        name: "read",
        arguments: "{}",
      },
    } as const;
    const model = new FakeModel((items) => {
      const response = items.find((item) => item.type === "hosted_tool_call" && item.name === "mcp_approval_response");
      return response ? [says(JSON.stringify(Object(response).providerData.approve))] : [approval as never];
    });
    const files = hostedMcpTool({ serverLabel: "files", serverUrl: "http://x.invalid", requireApproval: "always" });
    const agent = new Agent({ name: "desk", model, tools: [files] });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!);
    const state = await RunState.fromString(agent, first.state.toString());
    expect((await runner.run(agent, state, { agentId: "a" })).finalOutput).toBe("true");
  });

  it("decides a call of a tool that a tool search has loaded, and makes it once", async () => {
    const paid: string[] = [];
    const search = {
      type: "hosted_tool",
      name: "tool_search",
      providerData: { type: "tool_search", execution: "client" },
    };
    const found = { ...payTool(paid), deferLoading: true };
    const tools = [attachClientToolSearchExecutor(search as never, async () => found as never)];
    const searching = {
      type: "tool_search_call",
      id: "search_1",
      status: "completed",
      arguments: {},
      providerData: { call_id: "search_1", execution: "client" },
    };
    const model = new FakeModel((items) => {
      const seen = resultsIn(items);
      return seen.length > 0 ? [says(seen.join())] : [searching as never, calls("pay", { to: "Ann" })];
    });
    const agent = new Agent({ name: "desk", model, tools });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!);
    for (let attempt = 0; attempt < 2; attempt++)
      expect((await runner.run(agent, first.state, { agentId: "a" })).finalOutput).toBe("paid Ann");
    expect(paid).toEqual(["Ann"]);
  });

  it("continues a run that failed, with other options", async () => {
    const { runner, agent, model } = world(oneByOne);
    const failed = await runner.run(agent, "Go.", { agentId: "a", maxTurns: 0 }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(MaxTurnsExceededError);
    const { state } = failed as { readonly state: RunState<undefined, typeof agent> };
    expect(state.currentAgent).toBe(agent);
    expect((await runner.run(agent, state, { agentId: "a", maxTurns: 5 })).interruptions).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
  });
});

describe("A durable run refuses, without changes, a RunState", () => {
  const invalid = { code: "invalid_input" };

  it("of another agent or of an earlier run", async () => {
    const { runner, paid, agent } = world();
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    await runner.run(agent, "Go.", { agentId: "b" });
    for (const item of first.interruptions) first.state.approve(item);
    const copy = await RunState.fromString<undefined, typeof agent>(agent, first.state.toString());
    await runner.run(agent, "Go on.", { agentId: "a", unfinished: "abandon" });
    for (const state of [first.state, copy]) {
      for (const agentId of ["a", "b", "c"])
        await expect(runner.run(agent, state, { agentId })).rejects.toMatchObject(invalid);
    }
    expect(paid).toEqual([]);
    expect(await runner.agent("a").getRequests()).toHaveLength(2);
  });

  it("that the SDK made without the runner", async () => {
    const { runner, agent } = world();
    await runner.run(agent, "Go.", { agentId: "a" });
    const { state } = await new Runner().run(agent, "Go.");
    await expect(runner.run(agent, state, { agentId: "a" })).rejects.toMatchObject(invalid);
    await expect(
      runner.run(agent, new RunState({} as never, "Go.", agent, 10) as never, { agentId: "a" }),
    ).rejects.toMatchObject(invalid);
  });

  it("with a decision that contradicts the recorded one", async () => {
    const { runner, paid, agent } = world();
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    const copy = await RunState.fromString(agent, first.state.toString());
    for (const item of first.interruptions) first.state.approve(item);
    await runner.run(agent, first.state, { agentId: "a" });
    copy.reject(copy.getInterruptions()[0]!);
    await expect(runner.run(agent, copy, { agentId: "a" })).rejects.toMatchObject({ code: "request_answered" });
    expect(paid).toEqual(["Ann", "Bob"]);
  });

  it("whose approval is for a changed call", async () => {
    const { runner, paid, agent } = world(oneByOne);
    const { state, interruptions } = await runner.run(agent, "Go.", { agentId: "a" });
    Object.assign(interruptions[0]!.rawItem, { arguments: '{"to":"Eve"}' });
    state.approve(interruptions[0]!);
    await expect(runner.run(agent, state, { agentId: "a" })).rejects.toThrow(ModelBehaviorError);
    expect(await runner.agent("a").getRequests()).toHaveLength(1);
    expect(paid).toEqual([]);
  });

  it("with staged input", async () => {
    const { runner, agent } = world();
    const { state } = await runner.run(agent, "Go.", { agentId: "a" });
    state.addInput("And Cem.");
    const refused = { ...invalid, problems: [{ path: "pendingInput", expected: expect.any(String) as string }] };
    await expect(runner.run(agent, state, { agentId: "a" })).rejects.toMatchObject(refused);
  });

  it("whose decided requests a rollback has dropped", async () => {
    const { runner, paid, agent } = world(oneByOne);
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    first.state.approve(first.interruptions[0]!);
    const second = await runner.run(agent, first.state, { agentId: "a" });
    second.state.approve(second.interruptions[0]!);
    const [checkpoint] = await runner.agent("a").getCheckpoints();
    await runner.agent("a").rollbackToCheckpoint(checkpoint!.checkpointId);
    await expect(runner.run(agent, second.state, { agentId: "a" })).rejects.toMatchObject({
      code: "request_not_found",
    });
    const again = await runner.resume(agent, { agentId: "a" });
    expect(again.interruptions).toMatchObject([{ arguments: '{"to":"Ann"}' }]);
    expect(paid).toEqual(["Ann"]);
  });
});

describe("The result of a durable run", () => {
  it("has the user's agents in its guardrail results", async () => {
    const accept = { name: "accept", execute: async () => ({ tripwireTriggered: false, outputInfo: null }) };
    const desk = new Agent({ name: "desk", model: new FakeModel(() => [says("done")]), outputGuardrails: [accept] });
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const { outputGuardrailResults } = await runner.run(desk, "Go.", { agentId: "a" });
    expect(outputGuardrailResults[0]?.agent).toBe(desk);
  });
});
