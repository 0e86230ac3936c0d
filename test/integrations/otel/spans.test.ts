import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
  tool,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callsOf, look, recordingTelemetry, tracedAgent } from "./tracedAgent.ts";

const booked = tool({
  name: "book",
  description: "Books.",
  inputSchema: z.object({ item: z.string() }),
  execute: async ({ item }) => `booked ${item}`,
});

describe("spans of OpenTelemetry", () => {
  it("a run is a span that contains its requests, calls and saves, with conventional names", async () => {
    const { telemetry, spans, named, parentOf } = recordingTelemetry({ provider: "openai.chat" });
    const { runId } = (await tracedAgent(telemetry).run("hello", { agentId: "a-1" })) as { runId: string };
    const [run] = named("invoke_agent desk");
    expect(run?.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.conversation.id": "a-1",
      "gen_ai.agent.name": "desk",
      "gen_ai.agent.id": "desk",
      "agent_persistence.run.id": runId,
      "agent_persistence.status": "completed",
      "gen_ai.usage.input_tokens": 24,
    });
    const [chat] = named("chat small");
    expect(chat?.kind).toBe(SpanKind.CLIENT);
    expect(chat?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.conversation.id": "a-1",
      "gen_ai.request.model": "small",
      "gen_ai.request.temperature": 0,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
      "agent_persistence.node.id": "callModel",
      "agent_persistence.replayed": false,
    });
    const [call] = named("execute_tool look");
    expect(call?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": expect.any(String),
      "agent_persistence.replayed": false,
    });
    const saves = named("agent_persistence.save");
    expect(saves.map(({ attributes }) => attributes["agent_persistence.checkpoint.trigger"])).toEqual([
      "run_started",
      "after_node",
      "after_node",
      "run_ended",
    ]);
    expect(named("agent_persistence.open")).toHaveLength(1);
    const inside = spans().filter((span) => span !== run);
    expect(inside.map((span) => [span.name, parentOf(span)])).toEqual(
      inside.map((span) => [span.name, "invoke_agent desk"]),
    );
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toMatch(/secret|hello|seen|done/);
  });

  it("messages, inputs and outputs are shown only if enabled", async () => {
    const { telemetry, named } = recordingTelemetry({ content: true });
    await tracedAgent(telemetry).run("hello", { agentId: "a-1" });
    const [, second] = named("chat small");
    const messages = JSON.parse(String(second?.attributes["gen_ai.input.messages"])) as unknown;
    expect(messages).toEqual([
      { role: "user", parts: [{ type: "text", content: "hello" }] },
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: expect.any(String), name: "look", arguments: { at: "secret" } }],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: expect.any(String), response: "seen secret" }] },
    ]);
    expect(JSON.parse(String(second?.attributes["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: "done" }], finish_reason: "stop" },
    ]);
    expect(named("execute_tool look")[0]?.attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"at":"secret"}',
      "gen_ai.tool.call.result": '"seen secret"',
    });
    expect(named("invoke_agent desk")[0]?.attributes).toMatchObject({
      "agent_persistence.input": '"hello"',
      "agent_persistence.output": '"done"',
    });
  });

  it("content shows the size of bytes, and the items of maps and sets", async () => {
    const { telemetry, named } = recordingTelemetry({ content: true });
    const photo = tool({
      name: "look",
      description: "Takes a photo.",
      inputSchema: z.object({ at: z.string() }),
      execute: () => ({ photo: new Uint8Array(1_000), raw: Buffer.from("abc"), seen: new Map([["7", new Set([1])]]) }),
    });
    await tracedAgent(telemetry, { tools: [photo] }).run("hello", { agentId: "a-1" });
    expect(named("execute_tool look")[0]?.attributes["gen_ai.tool.call.result"]).toBe(
      '{"photo":"[1000 bytes]","raw":"[3 bytes]","seen":[["7",[1]]]}',
    );
  });

  it("a resume in another process links to the first trace of the run and reports its replays", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const first = recordingTelemetry();
    const stopped = tracedAgent(first.telemetry, { storage: crashAfter(storage, 3) });
    await expect(stopped.run("hello", { agentId: "a-1" })).rejects.toMatchObject({ code: "simulated_crash" });
    const [begun] = first.named("invoke_agent desk");
    expect(begun?.status.code).toBe(SpanStatusCode.ERROR);
    const second = recordingTelemetry();
    await tracedAgent(second.telemetry, { storage }).resume({ agentId: "a-1" });
    const [resumed] = second.named("invoke_agent desk");
    expect(resumed?.links.map(({ context }) => context)).toMatchObject([
      { traceId: begun?.spanContext().traceId, spanId: begun?.spanContext().spanId, isRemote: true },
    ]);
    expect(second.named("agent_persistence.resume")[0]?.attributes).toMatchObject({
      "agent_persistence.checkpoint.id": expect.any(String),
      "agent_persistence.node.id": expect.any(String),
    });
    const third = recordingTelemetry();
    const again = await tracedAgent(third.telemetry, { storage }).resume({ agentId: "a-1" });
    expect(again.status).toBe("completed");
    const [recorded] = third.named("invoke_agent desk");
    expect(recorded?.attributes["agent_persistence.replayed"]).toBe(true);
    expect(recorded?.links).toHaveLength(1);
    expect(third.named("chat small")).toEqual([]);
  });

  it("recorded responses and calls are marked spans without token counts", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const graph = callsOf([[booked, { item: "a" }]], true);
    const failing = { storage, tools: [booked] };
    const agentOf = (telemetry: ReturnType<typeof recordingTelemetry>["telemetry"], strategy: typeof graph) =>
      new AIAgent({
        id: "desk",
        promptExecutor: scriptedModel([]),
        llmModel: "small",
        tools: failing.tools,
        strategy,
      }).install(Persistence, { storage, telemetry });
    const first = recordingTelemetry();
    await expect(agentOf(first.telemetry, graph).run("x", { agentId: "a-1" })).rejects.toThrow("secret reason");
    const [failed] = first.named("invoke_agent desk");
    expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR, message: "TypeError" });
    expect(failed?.attributes["error.type"]).toBe("TypeError");
    expect(
      JSON.stringify(first.spans().map(({ attributes, status, events }) => [attributes, status, events])),
    ).not.toMatch("secret reason");
    const second = recordingTelemetry();
    await agentOf(second.telemetry, callsOf([[booked, { item: "a" }]])).resume({ agentId: "a-1" });
    expect(second.named("execute_tool book")[0]?.attributes["agent_persistence.replayed"]).toBe(true);
    const metrics = await second.metrics();
    const replayed = metrics.find(({ descriptor }) => descriptor.name === "agent_persistence.replayed");
    expect(replayed?.dataPoints.map(({ value }) => value)).toEqual([1]);
  });

  it("a rollback is a span with one span per inverse, which fails if its inverse fails", async () => {
    const { telemetry, named, parentOf } = recordingTelemetry();
    const registry = new RollbackToolRegistry().registerRollback(booked, async ({ item }) => {
      if (item === "stuck") throw new RangeError("no");
    });
    const strategy = callsOf(["a", "b"].map((item) => [booked, { item }] as const));
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = new AIAgent({
      id: "desk",
      promptExecutor: scriptedModel([]),
      llmModel: "small",
      tools: [booked],
      strategy,
    }).install(Persistence, { storage, telemetry, rollbackToolRegistry: registry, inverseRetry: { attempts: 1 } });
    await agent.run("x", { agentId: "a-1" });
    const outside = persistence(agent).agent("a-1");
    const [start] = await outside.getCheckpoints();
    await outside.rollbackToCheckpoint(start?.checkpointId ?? "");
    const [rollback] = named("agent_persistence.rollback");
    expect(rollback?.attributes).toMatchObject({
      "agent_persistence.rollback.reverted": 2,
      "agent_persistence.rollback.unreverted": 0,
      "agent_persistence.checkpoint.id": start?.checkpointId,
    });
    const inverses = named("agent_persistence.inverse");
    expect(inverses.map((span) => [span.attributes["gen_ai.tool.name"], parentOf(span)])).toEqual([
      ["book", "agent_persistence.rollback"],
      ["book", "agent_persistence.rollback"],
    ]);
    expect(named("agent_persistence.open").map(parentOf)).toEqual(["invoke_agent desk", "agent_persistence.rollback"]);
  });

  it("a failing inverse fails its span and the span of its rollback", async () => {
    const { telemetry, named } = recordingTelemetry();
    const registry = new RollbackToolRegistry().registerRollback(booked, async () => {
      throw new RangeError("no");
    });
    const options = {
      tools: [booked],
      registry,
      turns: [{ toolCalls: [{ toolName: "book", input: { item: "a" } }] }, "done"],
    };
    const agent = tracedAgent(telemetry, options);
    await agent.run("x", { agentId: "a-1" });
    const outside = persistence(agent).agent("a-1");
    const [start] = await outside.getCheckpoints();
    await expect(outside.rollbackToCheckpoint(start?.checkpointId ?? "")).rejects.toMatchObject({
      code: "rollback_incomplete",
    });
    expect(named("agent_persistence.inverse")[0]?.attributes["error.type"]).toBe("RangeError");
    expect(named("agent_persistence.rollback")[0]?.attributes["error.type"]).toBe("rollback_incomplete");
  });

  it("a call that waits for an approval ends with its run, and the answer is a span", async () => {
    const { telemetry, named } = recordingTelemetry();
    const asking = tool({
      name: "ask",
      description: "Asks.",
      effect: "none",
      inputSchema: z.object({}),
      execute: async (_input, { context }) => String(await context.requestInput({ prompt: "?", schema: z.string() })),
    });
    const agent = tracedAgent(telemetry, {
      tools: [asking],
      turns: [{ toolCalls: [{ toolName: "ask", input: {} }] }, "done"],
    });
    const result = await agent.run("x", { agentId: "a-1" });
    expect(result.status).toBe("waiting");
    expect(named("execute_tool ask")[0]?.attributes["agent_persistence.status"]).toBe("suspended");
    const requestId = result.status === "waiting" ? (result.requests[0]?.requestId ?? "") : "";
    await persistence(agent).agent("a-1").answer(requestId, "yes");
    expect(named("agent_persistence.answer")[0]?.attributes["agent_persistence.request.ids"]).toEqual([requestId]);
    expect((await agent.resume({ agentId: "a-1" })).status).toBe("completed");
    expect(named("execute_tool ask")).toHaveLength(2);
  });

  it("a called agent is a span in the span of its call, with its requests inside", async () => {
    const { telemetry, named, parentOf } = recordingTelemetry();
    const helper = tracedAgent(undefined, { id: "helper" }).asTool({
      name: "help",
      description: "Helps.",
      inputSchema: z.object({ topic: z.string() }),
      input: ({ topic }) => topic,
    });
    const agent = tracedAgent(telemetry, {
      tools: [helper],
      turns: [{ toolCalls: [{ toolName: "help", input: { topic: "go" } }] }, "done"],
    });
    await agent.run("x", { agentId: "a-1" });
    expect(named("invoke_agent help").map(parentOf)).toEqual(["execute_tool help"]);
    const parents = named("chat small").map(parentOf);
    expect(parents).toEqual(["invoke_agent desk", "invoke_agent help", "invoke_agent help", "invoke_agent desk"]);
  });

  it("a pruning is a span with the deleted counts", async () => {
    const { telemetry, named } = recordingTelemetry();
    const agent = tracedAgent(telemetry);
    await agent.run("x", { agentId: "a-1" });
    await persistence(agent).prune({ policy: { maxCheckpoints: 2 } });
    expect(named("agent_persistence.prune")[0]?.attributes["agent_persistence.prune.checkpoints"]).toBeGreaterThan(0);
  });

  it('spans: "persistence" omits spans of models and tools', async () => {
    const { telemetry, spans } = recordingTelemetry({ spans: "persistence" });
    await tracedAgent(telemetry).run("hello", { agentId: "a-1" });
    expect(spans().filter(({ name }) => !name.startsWith("agent_persistence."))).toEqual([]);
    expect(spans().length).toBeGreaterThan(0);
  });

  it("tokens and durations are metrics with conventional names and without ids", async () => {
    const { telemetry, metrics } = recordingTelemetry();
    await tracedAgent(telemetry, { tools: [look] }).run("hello", { agentId: "a-1" });
    const found = await metrics();
    expect(new Map(found.map(({ descriptor: { name, unit } }) => [name, unit]))).toEqual(
      new Map([
        ["agent_persistence.operation.duration", "s"],
        ["gen_ai.client.operation.duration", "s"],
        ["gen_ai.client.token.usage", "{token}"],
      ]),
    );
    const tokens = found.find(({ descriptor }) => descriptor.name === "gen_ai.client.token.usage");
    const sums = tokens?.dataPoints.map(({ attributes, value }) => [
      attributes["gen_ai.token.type"],
      (value as { sum?: number }).sum,
    ]);
    expect(sums).toEqual([
      ["input", 24],
      ["output", 6],
    ]);
    expect(JSON.stringify(found)).not.toMatch(/a-1|secret/);
  });
});
