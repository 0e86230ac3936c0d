import { Agent, type Model, type StreamEvent, tool } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner, PersistenceSession } from "../../../src/openai-agents.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

/** A model that streams one text and then hangs until it is aborted. */
class HangingModel extends FakeModel {
  override async *getStreamedResponse({ signal }: Parameters<Model["getResponse"]>[0]): AsyncIterable<StreamEvent> {
    yield { type: "output_text_delta", delta: "Well" };
    await new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    });
  }
}

function world() {
  const storage = new InMemoryPersistenceStorageProvider();
  const looked: number[] = [];
  const look = tool({
    name: "look",
    description: "Looks.",
    parameters: z.object({ at: z.number() }),
    execute: ({ at }) => `seen ${looked.push(at)}`,
  });
  const model = new FakeModel((items) => {
    const seen = resultsIn(items);
    return seen.length < 2 ? [calls("look", { at: seen.length })] : [says(seen.join())];
  });
  const agent = new Agent({ name: "desk", model, tools: [look] });
  return { storage, runner: new DurableRunner({ storage }), agent, looked };
}

describe("A stream of OpenAI Agents that its reader leaves", () => {
  it("ends the run as in the SDK, and a resume continues it", async () => {
    const { runner, agent, looked } = world();
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true });
    for await (const event of stream) if (event.type === "run_item_stream_event" && event.name === "tool_output") break;
    await stream.completed;
    expect(stream).toMatchObject({ cancelled: true, error: null });
    expect(stream.finalOutput).toBeUndefined();
    expect(looked).toEqual([0]);
    expect(await collect(runner.unfinished())).toMatchObject([{ agentId: "a" }]);
    expect((await runner.resume(agent, { agentId: "a" })).finalOutput).toBe("seen 1,seen 2");
    expect(looked).toEqual([0, 1]);
  });

  it.each(["toStream", "toTextStream"] as const)(
    "aborts the request to the model when %s is cancelled",
    async (kind) => {
      const { runner, agent } = world();
      const { model } = agent;
      agent.model = new HangingModel(() => []);
      const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true });
      const reader = (stream[kind]() as ReadableStream).getReader();
      await reader.read();
      await reader.cancel("enough");
      await stream.completed;
      expect(stream.cancelled).toBe(true);
      agent.model = model;
      expect((await runner.resume(agent, { agentId: "a" })).finalOutput).toBe("seen 1,seen 2");
    },
  );

  it("keeps a final output that was already accepted", async () => {
    const { runner, agent, looked } = world();
    let leave = (): unknown => undefined;
    agent.toolUseBehavior = "stop_on_first_tool";
    agent.outputGuardrails = [
      {
        name: "leaving",
        execute: async () => {
          await leave();
          return { tripwireTriggered: false, outputInfo: null };
        },
      },
    ];
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true });
    leave = () => (stream.toStream() as unknown as ReadableStream).cancel();
    await stream.completed;
    expect(stream.cancelled).toBe(true);
    expect(stream.finalOutput).toBe("seen 1");
    expect(await collect(runner.unfinished())).toEqual([]);
    expect(looked).toEqual([0]);
  });

  it("adds each item to the session once", async () => {
    const { storage, runner, agent } = world();
    const session = new PersistenceSession({ storage, sessionId: "s" });
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true, session });
    for await (const event of stream) if (event.type === "run_item_stream_event" && event.name === "tool_output") break;
    await stream.completed;
    await runner.resume(agent, { agentId: "a", session });
    const types = (await session.getItems()).map((item) => item.type ?? "message");
    const call = ["function_call", "function_call_result"];
    expect(types).toEqual(["message", ...call, ...call, "message"]);
  });

  it("continues for the other reader of a tee", async () => {
    const { runner, agent } = world();
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true });
    const [page, server] = (stream.toStream() as unknown as ReadableStream).tee();
    const left = page.cancel();
    for await (const _event of server);
    await Promise.all([left, stream.completed]);
    expect(stream.finalOutput).toBe("seen 1,seen 2");
  });

  it("is the same in each call of toStream, so that two readers do not share its events", async () => {
    const { runner, agent } = world();
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true });
    const read = collect(stream.toStream() as unknown as AsyncIterable<unknown>);
    expect(() => (stream.toStream() as unknown as ReadableStream).getReader()).toThrow("locked");
    expect((await read).length).toBeGreaterThan(0);
    await stream.completed;
  });

  it("ends without an error when the signal of the call aborts", async () => {
    const { runner, agent } = world();
    const { model } = agent;
    agent.model = new HangingModel(() => []);
    const controller = new AbortController();
    const { signal } = controller;
    const stream = await runner.run(agent, "Go.", { agentId: "a", stream: true, signal });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    controller.abort(new Error("not needed any more"));
    await expect(stream.completed).resolves.toBeUndefined();
    expect(stream.cancelled).toBe(true);
    agent.model = model;
    expect((await runner.resume(agent, { agentId: "a" })).finalOutput).toBe("seen 1,seen 2");
  });
});
