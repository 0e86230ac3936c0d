import { Agent, type AgentInputItem, tool } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner } from "../../../src/openai-agents.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

/** Everything that the SDK gives to code of the user in a run with a tool call and a handoff. */
async function givenIn({ stream }: { readonly stream: boolean }) {
  const given: { readonly place: string; readonly value: unknown }[] = [];
  const look = tool({ name: "look", description: "Looks.", parameters: z.object({}), execute: () => "seen" });
  const clerk = new Agent({ name: "clerk", model: new FakeModel(() => [says("done")]) });
  const model = new FakeModel((items) => [
    resultsIn(items).length === 0 ? calls("look", {}, "call_0") : calls("transfer_to_clerk", {}, "call_1"),
  ]);
  const desk = new Agent({ name: "desk", model, tools: [look], handoffs: [clerk] });
  const guardrail = async ({ agent }: { readonly agent: unknown }) => {
    given.push({ place: "guardrail", value: agent });
    return { tripwireTriggered: false, outputInfo: null };
  };
  const runner = new DurableRunner({
    storage: new InMemoryPersistenceStorageProvider(),
    config: {
      inputGuardrails: [{ name: "input", execute: guardrail }],
      outputGuardrails: [{ name: "output", execute: guardrail }],
      callModelInputFilter: ({ agent, modelData }) => {
        given.push({ place: "filter", value: agent });
        return modelData;
      },
    },
  });
  const hear = (place: string) => (_context: unknown, value: unknown, next?: unknown) => {
    given.push({ place, value });
    if (typeof next === "object") given.push({ place, value: next });
  };
  for (const hooks of [runner.runner, desk, clerk] as const) {
    hooks.on("agent_start", hear("agent_start"));
    hooks.on("agent_handoff", hear("agent_handoff"));
    hooks.on("agent_tool_start", hear("agent_tool_start"));
  }
  runner.runner.on("agent_end", hear("agent_end"));
  const result = await runner.run(desk, "Go.", { agentId: "a", stream: stream as true });
  if (stream) {
    for await (const event of result) {
      if (event.type === "agent_updated_stream_event") given.push({ place: event.type, value: event.agent });
      if (event.type === "run_item_stream_event" && "agent" in event.item)
        given.push({ place: event.name, value: event.item.agent });
    }
  }
  expect(result.finalOutput).toBe("done");
  return { given, known: new Set<unknown>([desk, clerk, look]) };
}

describe("code of the user in a durable run", () => {
  it.each([{ stream: false }, { stream: true }])("gets the user's agents and tools ($stream)", async (how) => {
    const { given, known } = await givenIn(how);
    const objects = given.filter(
      ({ value }) => value instanceof Agent || (typeof value === "object" && value && "invoke" in value),
    );
    expect(objects.filter(({ value }) => !known.has(value)).map(({ place }) => place)).toEqual([]);
    const places = ["guardrail", "filter", "agent_start", "agent_handoff", "agent_tool_start", "agent_end"];
    expect(objects.map(({ place }) => place)).toEqual(expect.arrayContaining(places));
  });
});

it("A filter of the model's input keeps its properties, such as preserveInputIdentity", async () => {
  const seen: unknown[] = [];
  const look = tool({ name: "look", description: "Looks.", parameters: z.object({}), execute: () => "seen" });
  const model = new FakeModel((items) => [resultsIn(items).length === 0 ? calls("look", {}, "call_0") : says("done")]);
  const callModelInputFilter = Object.assign(
    ({ modelData }: { readonly modelData: { readonly input: AgentInputItem[] } }) => {
      seen.push(modelData.input[0]);
      return modelData;
    },
    { preserveInputIdentity: true },
  );
  const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
  const options = { agentId: "a", callModelInputFilter };
  await runner.run(new Agent({ name: "desk", model, tools: [look] }), [{ role: "user", content: "Go." }], options);
  expect(seen).toHaveLength(2);
  expect(seen[1]).toBe(seen[0]);
});
