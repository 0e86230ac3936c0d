import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence } from "agent-persistence";
import type { PersistenceEvent, PromptExecutor } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { InMemoryStreamStore, Streams, type StreamStore } from "agent-persistence/streams";
import { describe, expect, it } from "vitest";
import { scriptedModel, text } from "../integrations/ai-sdk-agents/support/scriptedModel.ts";
import { type Sdk, sdks } from "../integrations/ai-sdk-agents/support/sdks.ts";
import { SimulatedClock } from "agent-persistence/testing";
import { StreamCalls, StreamWriter } from "../../src/streams/write/StreamWriter.ts";
import { storesUnderTest } from "./store/storesUnderTest.ts";

const promptExecutor: PromptExecutor = {
  execute: () => Promise.reject(new Error("only streams")),
  async stream(_request, onDelta) {
    onDelta({ type: "text-delta", text: "all done" });
    return { message: { role: "assistant", content: "all done" } };
  },
};

const never = new Promise<never>(() => {});

/** An agent whose stream store has a mistake. */
function deskWith(store: StreamStore, storeTimeoutMs?: number) {
  const events: PersistenceEvent[] = [];
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({ llmModel: "m", promptExecutor })
    .install(Persistence, { storage, onEvent: (event) => void events.push(event) })
    .install(Streams, { store, batchDelayMs: 0, batchChunks: 1, storeTimeoutMs });
  const failures = () => events.filter(({ type }) => type === "stream_store_failed");
  return { agent, failures };
}

/** Chunks that a killed process has left. */
const left = { writer: 3, first: 1, chunks: ["left"] };

const sdkDesk = (sdk: Sdk, streams: StreamStore) =>
  durableAgent({ storage: new InMemoryPersistenceStorageProvider(), streams }, (durable) => {
    return new sdk.ai.ToolLoopAgent({ id: "desk", model: durable.model(scriptedModel([text("all done")], sdk)) });
  });

describe("a store that never answers", () => {
  it("delays the end of a run by one timeout at most, and is reported as an event", async () => {
    const store = new InMemoryStreamStore();
    store.append = () => never;
    const { agent, failures } = deskWith(store, 20);
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ status: "completed", output: "all done" });
    await expect
      .poll(failures)
      .toMatchObject([
        { type: "stream_store_failed", agentId: "a", operation: "append", error: { code: "storage_failed" } },
      ]);
  });

  it("does not delay the end by more if it never removes", async () => {
    const store = new InMemoryStreamStore();
    store.remove = () => never;
    const { agent, failures } = deskWith(store, 20);
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ status: "completed" });
    expect(await agent.run("again", { agentId: "a" })).toMatchObject({ status: "completed" });
    await expect.poll(failures).toContainEqual(expect.objectContaining({ operation: "remove" }));
  });

  it("is reported once for each outage", async () => {
    const store = new InMemoryStreamStore();
    store.append = () => Promise.reject(new Error("store is down"));
    const { agent, failures } = deskWith(store);
    await agent.run("go", { agentId: "a" });
    expect(failures()).toMatchObject([{ operation: "append", error: { message: "store is down" } }]);
  });

  it("does not delay a deletion by more than one timeout", async () => {
    const store = new InMemoryStreamStore();
    store.remove = () => never;
    const { agent } = deskWith(store, 20);
    await agent.run("go", { agentId: "a" });
    await persistence(agent).deleteAgent("a");
    expect(await persistence(agent).agent("a").getCheckpoints()).toEqual([]);
  });

  it.each(sdks)("does not hold the response of an agent of the AI SDK $version", async (sdk) => {
    const store = new InMemoryStreamStore();
    let asked = () => {};
    const removal = new Promise<void>((resolve) => (asked = resolve));
    store.remove = () => {
      asked();
      return never;
    };
    const stream = await sdkDesk(sdk, store).for("a").stream({ prompt: "go" });
    const reader = stream.fullStream.getReader();
    let types: readonly string[] = [];
    while (types.at(-1) !== "finish-step") {
      const { value } = await reader.read();
      types = [...types, value?.type ?? expect.unreachable()];
    }
    await removal;
  });
});

describe.each(Object.entries(storesUnderTest))("a store whose responses are lost, %s", (_name, make) => {
  it("stores each chunk once", async () => {
    const { store } = await make();
    for (const lost of [1, 2, 3]) {
      let sent = 0;
      const lossy: Pick<StreamStore, "append" | "remove"> = {
        append: async (...entry) => {
          await store.append(...entry);
          if (++sent <= lost) throw new Error("the response was lost");
        },
        remove: (...of) => store.remove(...of),
      };
      const streamId = `lost-${lost}`;
      const clock = new SimulatedClock();
      const onFailure = () => undefined;
      const calls = new StreamCalls({ ...store, ...lossy } as StreamStore, streamId, {
        clock,
        timeoutMs: 1_000,
        onFailure,
      });
      const writer = new StreamWriter(calls, { writer: 1, number: 1 }, { clock, delayMs: 0, chunks: 1 });
      const texts = ["a", "b", "c", "d", "e", "f"];
      for (const text of texts) {
        writer.add({ type: "text-delta", text, requestId: "r", nodeId: "n" });
        clock.advance(1);
        const before = sent;
        await expect.poll(() => sent).toBeGreaterThan(before);
      }
      const stored = async () => (await store.read(streamId)).flatMap(({ chunks }) => chunks);
      const textOf = (chunk: string) => (JSON.parse(chunk) as { readonly text: string }).text;
      await expect.poll(async () => (await stored()).map(textOf)).toEqual(texts);
    }
  });
});

describe("a store with an outage", () => {
  it("gets no chunks of responses that were complete before it recovered", async () => {
    const store = new InMemoryStreamStore();
    let isDown = true;
    let attempts = 0;
    const lossy: StreamStore = {
      append: async (streamId, entry) => {
        attempts++;
        if (isDown) throw new Error("down");
        return store.append(streamId, entry);
      },
      read: (...of) => store.read(...of),
      remove: (...of) => store.remove(...of),
    };
    const clock = new SimulatedClock();
    const calls = new StreamCalls(lossy, "s", { clock, timeoutMs: 1_000, onFailure: () => undefined });
    const writer = new StreamWriter(calls, { writer: 1, number: 1 }, { clock, delayMs: 0, chunks: 1 });
    const add = async (text: string, requestId: string) => {
      const before = attempts;
      writer.add({ type: "text-delta", text, requestId, nodeId: "n" });
      clock.advance(1);
      await expect.poll(() => attempts).toBeGreaterThan(before);
    };
    for (let number = 0; number < 20; number++) {
      for (const text of ["a", "b", "c"]) await add(`${number}${text}`, `r${number}`);
      await add("kept", `r${number + 1}`);
      await writer.remove([`r${number}`]);
    }
    isDown = false;
    await add("end", "r20");
    const texts = async () =>
      (await store.read("s")).flatMap(({ chunks }) => chunks.map((chunk) => (JSON.parse(chunk) as Text).text));
    await expect.poll(texts).toEqual(["kept", "end"]);
  });
});

it("a writer stores no chunk that arrives after the end of its run", async () => {
  const store = new InMemoryStreamStore();
  const clock = new SimulatedClock();
  const calls = new StreamCalls(store, "s", { clock, timeoutMs: 1_000, onFailure: () => undefined });
  const writer = new StreamWriter(calls, { writer: 1, number: 1 }, { clock, delayMs: 0, chunks: 1 });
  const add = (text: string) => writer.add({ type: "text-delta", text, requestId: "r", nodeId: "n" });
  add("a");
  clock.advance(1);
  await expect.poll(() => store.read("s")).toHaveLength(1);
  await writer.end();
  const { number } = writer.next;
  add("late");
  clock.advance(1);
  await writer.remove([]);
  expect(await store.read("s")).toEqual([]);
  expect(writer.next.number).toBe(number);
});

interface Text {
  readonly text: string;
}

describe.each(Object.entries(storesUnderTest))("the chunks of a deleted agent %s", (_name, make) => {
  it("are removed with it, so that a new agent of that id has its own", async () => {
    const { store } = await make();
    const { agent } = deskWith(store);
    await agent.run("go", { agentId: "a" });
    await store.append("a", left);
    await store.append("b", left);
    await persistence(agent).deleteAgent("a");
    expect(await store.read("a")).toEqual([]);
    expect(await store.read("b")).toHaveLength(1);
  });

  it("are removed when a retention policy deletes the agent", async () => {
    const { store } = await make();
    const { agent } = deskWith(store);
    await agent.run("go", { agentId: "a" });
    await store.append("a", left);
    const { pruned } = await persistence(agent).prune({ policy: { completedDays: 0 }, now: Date.now() + 1_000 });
    expect(pruned).toMatchObject([{ agentId: "a", dropped: true }]);
    expect(await store.read("a")).toEqual([]);
  });
});

it.each(sdks)("removes the chunks of a deleted agent of the AI SDK $version", async (sdk) => {
  const store = new InMemoryStreamStore();
  const desk = sdkDesk(sdk, store);
  await (
    await desk.for("a").stream({ prompt: "go" })
  ).text;
  await store.append("a", left);
  await desk.deleteAgent("a");
  expect(await store.read("a")).toEqual([]);
});
