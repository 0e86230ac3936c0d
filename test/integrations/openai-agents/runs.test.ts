import { Agent, MemorySession, type Session, tool } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider, InvalidInputError } from "../../../src/index.ts";
import { DurableRunner, PersistenceSession } from "../../../src/openai-agents.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

function desk(refunds: string[] = []) {
  const refund = tool({
    name: "refund",
    description: "Refunds.",
    parameters: z.object({ id: z.string() }),
    execute: async ({ id }) => {
      refunds.push(id);
      return `refunded ${id}`;
    },
  });
  const model = new FakeModel((items) => {
    const results = resultsIn(items);
    return results.length < 2 ? [calls("refund", { id: `order-${results.length + 1}` })] : [says(results.join(", "))];
  });
  return { model, agent: new Agent({ name: "desk", instructions: "Refund.", model, tools: [refund] }), refunds };
}

describe("a run of an agent of OpenAI Agents", () => {
  it("has the result of the SDK and replays it when called again", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const runner = new DurableRunner({ storage });
    const { agent, model, refunds } = desk();
    const result = await runner.run(agent, "Refund both.", { agentId: "desk-1", runId: "first" });
    expect(result.finalOutput).toBe("refunded order-1, refunded order-2");
    expect(refunds).toEqual(["order-1", "order-2"]);
    const again = await runner.run(agent, "Refund both.", { agentId: "desk-1", runId: "first" });
    expect(again.finalOutput).toBe(result.finalOutput);
    expect(again.history).toEqual(result.history);
    expect(again.rawResponses).toEqual(result.rawResponses);
    expect(result.lastAgent).toBe(agent);
    expect(refunds).toHaveLength(2);
    expect(model.requests).toHaveLength(3);
  });

  it("that first finishes another run streams only itself", async () => {
    let isDown = true;
    const model = new FakeModel((items) => {
      const question = JSON.stringify(items[0]).includes("one") ? "one" : "two";
      if (resultsIn(items).length === 0) return [calls("refund", { id: question })];
      return isDown ? new Error("overloaded") : [says(`${question}: ${resultsIn(items).join()}`)];
    });
    const { agent, refunds } = desk();
    agent.model = model;
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    const first = await runner.run(agent, "one", { agentId: "a", stream: true });
    await expect(first.completed).rejects.toThrow("overloaded");
    isDown = false;
    const second = await runner.run(agent, "two", { agentId: "a", stream: true, unfinished: "finish_first" });
    const texts: string[] = [];
    for await (const text of second.toTextStream()) texts.push(text);
    await second.completed;
    expect(texts.join("")).toBe("two: refunded two");
    expect(second.finalOutput).toBe("two: refunded two");
    expect(refunds).toEqual(["one", "two"]);
    expect(model.requests).toHaveLength(5);
  });

  it("before a run with another id and the same input shows only the events of the new run", async () => {
    let isDown = true;
    let shown = 0;
    const { agent } = desk();
    agent.model = new FakeModel(() => (isDown ? new Error("overloaded") : [says(`answer ${++shown}`)]));
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    await expect(runner.run(agent, "Go.", { agentId: "a", runId: "one" })).rejects.toThrow("overloaded");
    isDown = false;
    const options = { agentId: "a", runId: "two", stream: true, unfinished: "finish_first" } as const;
    const second = await runner.run(agent, "Go.", options);
    const texts: string[] = [];
    for await (const text of second.toTextStream()) texts.push(text);
    await second.completed;
    expect(texts.join("")).toBe("answer 2");
    expect(second.finalOutput).toBe("answer 2");
  });

  it("before a joined call shows the events of the new run from their start", async () => {
    let isDown = true;
    let answers = 0;
    const { agent } = desk();
    agent.model = new FakeModel(() => (isDown ? new Error("overloaded") : [says(`answer ${++answers}`)]));
    const runner = new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() });
    await expect(runner.run(agent, "Go.", { agentId: "a" })).rejects.toThrow("overloaded");
    isDown = false;
    const options = { agentId: "a", stream: true, whenBusy: "join", unfinished: "finish_first" } as const;
    const joined = await runner.run(agent, "And again.", options);
    const texts: string[] = [];
    for await (const text of joined.toTextStream()) texts.push(text);
    await joined.completed;
    expect(texts.join("")).toBe("answer 1answer 2");
    expect(joined.finalOutput).toBe("answer 2");
  });

  it("is resumed only with its session, and can be resumed after a refusal", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const sessionOf = (sessionId: string) => new PersistenceSession({ storage, sessionId });
    const sessions = {
      own: sessionOf("talk"),
      "another of its kind": sessionOf("other"),
      "one of another kind": new MemorySession(),
      none: undefined,
    };
    for (const [begun, session] of Object.entries(sessions)) {
      let isDown = true;
      const { agent } = desk();
      agent.model = new FakeModel(() => (isDown ? new Error("overloaded") : [says("done")]));
      const runner = new DurableRunner({ storage });
      const given = (each: Session | undefined) => ({ agentId: begun, ...(each && { session: each }) });
      await expect(runner.run(agent, "Go.", given(session))).rejects.toThrow("overloaded");
      isDown = false;
      for (const other of Object.values(sessions).filter((each) => each !== session)) {
        await expect(runner.resume(agent, given(other))).rejects.toThrow(InvalidInputError);
        const stream = runner.resume(agent, { ...given(other), stream: true });
        await expect(stream).rejects.toThrow(/at "session": expected .*, as at the start of the run/);
      }
      // It has not failed.
      const unfinished = await collect(runner.unfinished());
      expect(unfinished.map(({ agentId }) => agentId)).toEqual([begun]);
      expect((await runner.resume(agent, given(session))).finalOutput).toBe("done");
    }
    const kept = await Promise.all(Object.values(sessions).map(async (session) => session?.getItems()));
    expect(kept.map((items) => items?.length)).toEqual([2, 2, 2, undefined]);
  });
});
