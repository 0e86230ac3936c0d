import { Agent, type AgentInputItem, type AgentOutputItem, Runner, tool } from "@openai/agents-core";
import { webSearchTool } from "@openai/agents-openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../../src/index.ts";
import type { AnyResult, AnyStream } from "../../../../src/integrations/openai-agents/wrapped/AnyAgent.ts";
import { DurableRunner } from "../../../../src/openai-agents.ts";
import { calls, resultsIn, says } from "../fakeModel.ts";
import { OpenAIServer, type Protocol } from "./OpenAIServer.ts";

type Result = AnyResult | AnyStream;

const thinks: AgentOutputItem = {
  type: "reasoning",
  content: [{ type: "input_text", text: "Both orders have to be found first." }],
};
const searches: AgentOutputItem = {
  type: "hosted_tool_call",
  name: "web_search_call",
  providerData: {
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
    action: { type: "search", query: "refund rules" },
  },
};

/** Finds two orders at once, refunds one after an approval, and hands off. */
function reply(items: readonly AgentInputItem[]): readonly AgentOutputItem[] {
  switch (resultsIn(items).length) {
    case 0:
      return [thinks, searches, calls("find", { id: "7" }, "call_0"), calls("find", { id: "8" }, "call_1")];
    case 2:
      return [says("Found both."), calls("refund", { id: "7" }, "call_2")];
    case 3:
      return [thinks, calls("transfer_to_clerk", {}, "call_3")];
    case 4:
      return [calls("find", { id: "9" }, "call_4")];
    default:
      return [thinks, says(resultsIn(items).join("; "))];
  }
}

function deskOf(server: OpenAIServer, protocol: Protocol): Agent {
  const id = z.object({ id: z.string() });
  const find = tool({ name: "find", description: "Finds.", parameters: id, execute: (input) => `found ${input.id}` });
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: id,
    needsApproval: true,
    execute: (input) => `refunded ${input.id}`,
  });
  const model = server.model(protocol);
  const clerk = new Agent({ name: "clerk", model, tools: [find] });
  // Chat Completions has no hosted tools.
  const hosted = protocol === "responses" ? [webSearchTool()] : [];
  return new Agent({
    name: "desk",
    model,
    modelSettings: { preserveRawUsage: true },
    tools: [find, refund, ...hosted],
    handoffs: [clerk],
  });
}

async function ended(result: Result): Promise<Result> {
  if ("completed" in result) await result.completed;
  return result;
}

async function withSdk(agent: Agent, stream: boolean): Promise<Result> {
  const runner = new Runner({ tracingDisabled: true });
  const first = await ended(await runner.run(agent, "Refund.", { stream: stream as false }));
  for (const item of first.interruptions) first.state.approve(item);
  return ended(await runner.run(agent, first.state, { stream: stream as false }));
}

async function withDurableRunner(runner: DurableRunner, agent: Agent, stream: boolean): Promise<Result> {
  const options = { agentId: "a", stream: stream as false };
  const first = await ended(await runner.run(agent, "Refund.", options));
  expect(first.interruptions.map(({ name }) => name)).toEqual(["refund"]);
  const requests = await runner.agent("a").getRequests();
  const answers = Object.fromEntries(requests.map(({ requestId }) => [requestId, { approved: true }]));
  return ended(await runner.resume(agent, { ...options, answers }));
}

/** What users read of a result. Calls have the ids of the library, and `providerData` of a response is not kept. */
function shown(result: Result): unknown {
  const known = new Map<unknown, string>();
  const idOf = (id: unknown) => known.get(id) ?? known.set(id, `id ${known.size}`).get(id);
  const { history, finalOutput, rawResponses, lastAgent, newItems } = result;
  const responses = rawResponses.map(({ providerData: _dropped, ...response }) => response);
  const value = {
    history,
    finalOutput,
    responses,
    lastAgent: lastAgent?.name,
    items: newItems.map(({ type }) => type),
  };
  return JSON.parse(JSON.stringify(value, (key, field: unknown) => (key === "callId" ? idOf(field) : field)));
}

const ways = (["responses", "chat"] as const).flatMap((protocol) =>
  [false, true].map((stream) => ({ protocol, stream, how: stream ? "streamed" : "whole" })),
);

describe("the models of @openai/agents-openai", () => {
  it.each(ways)("give the same result in a DurableRunner as in the SDK ($protocol, $how)", async (way) => {
    const { protocol, stream } = way;
    await using plain = await OpenAIServer.start(reply);
    await using served = await OpenAIServer.start(reply);
    const expected = await withSdk(deskOf(plain, protocol), stream);
    const runner = new DurableRunner({
      storage: new InMemoryPersistenceStorageProvider(),
      config: { tracingDisabled: true },
    });
    const agent = deskOf(served, protocol);
    const result = await withDurableRunner(runner, agent, stream);
    expect(result.finalOutput).toMatch(/^found 7; found 8; refunded 7; .*clerk.*; found 9$/);
    expect(served.requests).toEqual(plain.requests);
    expect(shown(result)).toEqual(shown(expected));
    expect(result.state.usage).toEqual(expected.state.usage);
    const replayed = await ended(await runner.resume(agent, { agentId: "a", stream: stream as false }));
    expect(shown(replayed)).toEqual(shown(result));
    expect(replayed.state.usage).toEqual(result.state.usage);
    expect(served.requests).toHaveLength(5);
  });
});
