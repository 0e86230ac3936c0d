import { Agent, type Model, tool } from "@openai/agents-core";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { DurableRunner, PersistenceSession } from "agent-persistence/openai-agents";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { calls, FakeModel, resultsIn, says } from "../openai-agents/fakeModel.ts";
import { recordingTelemetry } from "./tracedAgent.ts";

const storage = () => new InMemoryPersistenceStorageProvider();

/** A desk whose refunds need an approval, and whose helper is a tool. Its model is asked for by a name. */
function desk(telemetry: ReturnType<typeof recordingTelemetry>["telemetry"], at = storage()) {
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ id: z.string() }),
    needsApproval: true,
    execute: ({ id }) => `secret ${id}`,
  });
  const helper = new Agent({ name: "helper", model: new FakeModel(() => [says("fine")]) });
  const model: Model = new FakeModel((items) => {
    const { length } = resultsIn(items);
    if (length === 0) return [calls("ask_helper", { input: "Help." })];
    return length === 1 ? [calls("refund", { id: "7" })] : [says("done")];
  });
  const runner = new DurableRunner({
    storage: at,
    telemetry,
    tools: { refund: { rollback: () => undefined } },
    config: { tracingDisabled: true, modelProvider: { getModel: () => model } },
  });
  const tools = [refund, helper.asTool({ toolName: "ask_helper", toolDescription: "" })];
  return { runner, agent: new Agent({ name: "desk", model: "big", tools }) };
}

describe("spans of a DurableRunner", () => {
  it("cover the run, its requests, calls and saves, the answer, the resume and the rollback", async () => {
    const { telemetry, spans, named, parentOf } = recordingTelemetry();
    const { runner, agent } = desk(telemetry);
    await runner.run(agent, "Refund.", { agentId: "a" });
    const invoked = "invoke_agent openai-agents";
    expect(named("chat big").map(parentOf)).toEqual([invoked, invoked]);
    expect(named("execute_tool ask_helper").map(parentOf)).toEqual([invoked]);
    expect(named("chat hosted").map(parentOf)).toEqual(["execute_tool ask_helper"]);
    expect(named("agent_persistence.save").map(parentOf)).toEqual(
      expect.arrayContaining([invoked, invoked]) as unknown,
    );
    expect(named(invoked)[0]?.attributes).toMatchObject({
      "gen_ai.conversation.id": "a",
      "agent_persistence.status": "waiting",
    });
    const durable = runner.agent("a");
    const [request] = await durable.getRequests();
    await durable.answer(request?.requestId ?? "", { approved: true });
    expect(named("agent_persistence.answer")).toHaveLength(1);

    await runner.resume(agent, { agentId: "a" });
    const [begun, resumed] = named(invoked);
    expect(resumed?.links.map(({ context }) => context.spanId)).toEqual([begun?.spanContext().spanId]);
    expect(named("agent_persistence.resume").map(parentOf)).toEqual([invoked]);
    const asked = named("chat big").map(({ attributes }) => attributes["agent_persistence.replayed"]);
    expect(asked).toEqual([false, false, true, true, false]);
    expect(named("execute_tool refund").at(-1)?.attributes["agent_persistence.replayed"]).toBe(false);

    const [oldest] = await durable.getCheckpoints();
    await durable.rollbackToCheckpoint(oldest?.checkpointId ?? "");
    expect(named("agent_persistence.inverse").map(parentOf)).toEqual(["agent_persistence.rollback"]);
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toMatch(/secret|Refund\./);
  });

  it("include a prune at the end of a run if the options enable it", async () => {
    const { telemetry, named, parentOf } = recordingTelemetry();
    const retention = { maxCheckpoints: 2 };
    const runner = new DurableRunner({ storage: storage(), telemetry, retention, config: { tracingDisabled: true } });
    const look = tool({
      name: "look",
      description: "Looks.",
      parameters: z.object({ at: z.number() }),
      execute: ({ at }) => at,
    });
    const model = new FakeModel((items) => {
      const { length } = resultsIn(items);
      return length < 5 ? [calls("look", { at: length })] : [says("done")];
    });
    await runner.run(new Agent({ name: "desk", model, tools: [look] }), "Look.", { agentId: "a" });
    const pruned = named("agent_persistence.prune");
    expect(pruned.map(parentOf)).toEqual(["invoke_agent openai-agents"]);
    expect(pruned[0]?.attributes["agent_persistence.prune.checkpoints"]).toBeGreaterThan(0);
  });

  it("are only spans of persistence if the framework has spans, and a resume links to the surrounding one", async () => {
    const { telemetry, tracer, spans, named } = recordingTelemetry({ spans: "persistence" });
    const at = storage();
    const run = () => {
      const { runner, agent } = desk(telemetry, at);
      return runner.run(agent, "Refund.", { agentId: "a" });
    };
    const around = await tracer.startActiveSpan("request", async (span) => {
      await run();
      span.end();
      return span.spanContext();
    });
    const own = desk(telemetry, at);
    const [request] = await own.runner.agent("a").getRequests();
    await own.runner.agent("a").answer(request?.requestId ?? "", { approved: true });
    await own.runner.resume(own.agent, { agentId: "a" });
    const others = spans().filter(({ name }) => !name.startsWith("agent_persistence."));
    expect(others.map(({ name }) => name)).toEqual(["request"]);
    const [resume] = named("agent_persistence.resume");
    expect(resume?.links.map(({ context }) => context)).toMatchObject([
      { traceId: around.traceId, spanId: around.spanId },
    ]);
  });

  it("include a save for each change of a session, and a prune", async () => {
    const { telemetry, spans } = recordingTelemetry();
    await using session = new PersistenceSession({ storage: storage(), sessionId: "talk", telemetry });
    await session.addItems([{ role: "user", content: "secret" }]);
    await session.popItem();
    await session.prune();
    await session.getItems();
    expect(spans().map(({ name, attributes }) => [name, attributes["gen_ai.conversation.id"]])).toEqual([
      ["agent_persistence.save", "talk"],
      ["agent_persistence.save", "talk"],
      ["agent_persistence.prune", "talk"],
    ]);
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toMatch("secret");
  });
});
