import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PromptExecutor,
  type RunDelta,
  strategy,
  tool,
} from "agent-persistence";
import {
  attachStream,
  InMemoryStreamStore,
  type StreamChunk,
  Streams,
  streams,
  type StreamStore,
} from "agent-persistence/streams";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { PollIntervals } from "../../src/streams/follow/attachStream.ts";
import { ClientView } from "./ClientView.ts";
import { storesUnderTest } from "./store/storesUnderTest.ts";

/** A model whose responses are written by a test, piece by piece. */
class WrittenModel implements PromptExecutor {
  readonly requests: { write(text: string): void; end(calls?: readonly string[]): void; fail(error: Error): void }[] =
    [];
  #asked: () => void = () => {};

  execute(): never {
    throw new Error("only streams");
  }

  stream: NonNullable<PromptExecutor["stream"]> = ({ abortSignal }, onDelta) =>
    new Promise((resolve, reject) => {
      let text = "";
      abortSignal.addEventListener("abort", () => reject(abortSignal.reason as Error));
      this.requests.push({
        write: (piece) => {
          text += piece;
          onDelta({ type: "text-delta", text: piece });
        },
        end: (calls = []) => {
          const parts = calls.map((toolName) => ({ type: "tool-call", toolCallId: "c", toolName, input: {} }) as const);
          resolve({ message: { role: "assistant", content: [{ type: "text", text }, ...parts] } });
        },
        fail: reject,
      });
      this.#asked();
    });

  async request(index: number) {
    while (this.requests.length <= index) await new Promise<void>((resolve) => (this.#asked = resolve));
    return this.requests[index] ?? expect.unreachable();
  }
}

/** A store that counts its appends. */
class CountedStore extends InMemoryStreamStore {
  appends = 0;
  fails = false;

  override async append(...entry: Parameters<StreamStore["append"]>): Promise<void> {
    if (this.fails) throw new Error("store is down");
    this.appends++;
    return super.append(...entry);
  }
}

const look = tool({ name: "look", description: "", inputSchema: z.object({}), effect: "none", execute: () => "seen" });

interface DeskOptions<Store extends StreamStore> {
  readonly batchChunks?: number;
  readonly clock?: SimulatedClock;
  readonly store?: Store;
}

function desk<Store extends StreamStore = CountedStore>(options: DeskOptions<Store> = { batchChunks: 1 }) {
  const { store = new CountedStore() as unknown as Store, ...batching } = options;
  const model = new WrittenModel();
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({ llmModel: "m", promptExecutor: model, tools: [look], modelRetry: { delayMs: 0 } })
    .install(Persistence, { storage })
    .install(Streams, { store, ...batching });
  return { model, storage, store, agent };
}

/** Reads chunks one by one. */
function reader(chunks: AsyncGenerator<StreamChunk>) {
  const view = new ClientView();
  return {
    view,
    async next(): Promise<StreamChunk | undefined> {
      const { value } = await chunks.next();
      if (value) view.add(value);
      return value ?? undefined;
    },
    async rest(): Promise<ClientView> {
      for await (const chunk of chunks) view.add(chunk);
      return view;
    },
    leave: () => chunks.return(undefined),
  };
}

describe("a client of a run", () => {
  it("sees each chunk once, from the start of the run to its end", async () => {
    const { model, agent, store } = desk();
    const run = agent.run("go", { agentId: "a" });
    const first = await model.request(0);
    const client = reader(streams(agent).attach("a"));
    for (const text of ["a", "b", "c"]) {
      first.write(text);
      expect(await client.next()).toMatchObject({ type: "text-delta", text });
    }
    first.end(["look"]);
    (await model.request(1)).write("d");
    expect(await client.next()).toMatchObject({ type: "text-delta", text: "d" });
    (await model.request(1)).end();
    await run;
    expect([...(await client.rest()).texts.values()]).toEqual(["abc", "d"]);
    expect(client.view.restarts).toBe(0);
    expect(await store.read("a")).toEqual([]);
  });

  it("waits for the run that it names, and sees it from its start", async () => {
    const { model, agent } = desk();
    const attach = (runId: string) => reader(streams(agent).attach("a", { runId, pollMs: 1 }));
    const client = attach("m1");
    const first = client.next();
    const run = agent.run("go", { agentId: "a", runId: "m1" });
    const response = await model.request(0);
    response.write("a");
    expect(await first).toMatchObject({ text: "a" });
    const waiting = attach("m2").rest();
    response.end();
    await run;
    expect([...(await client.rest()).texts.values()]).toEqual(["a"]);
    const second = agent.run("again", { agentId: "a", runId: "m2" });
    (await model.request(1)).write("b");
    (await model.request(1)).end();
    await second;
    expect([...(await waiting).texts.values()]).toEqual(["b"]);
  });

  it("sees the newest run that it names after its end, and no earlier run", async () => {
    const { model, agent } = desk();
    for (const [index, runId] of ["m1", "m2"].entries()) {
      const run = agent.run("go", { agentId: "a", runId });
      (await model.request(index)).write(runId);
      (await model.request(index)).end();
      await run;
    }
    const seen = async (runId: string) => {
      const { texts } = await reader(streams(agent).attach("a", { runId })).rest();
      return [...texts.values()];
    };
    expect([await seen("m1"), await seen("m2")]).toEqual([[], ["m2"]]);
  });

  it("sees only the run that it follows, also if the next run starts at once", async () => {
    const { model, agent } = desk();
    const first = agent.run("go", { agentId: "a", runId: "m1" });
    (await model.request(0)).write("a");
    const [unnamed, named] = [{}, { runId: "m1" }].map((options) => reader(streams(agent).attach("a", options)));
    for (const client of [unnamed, named]) expect(await client?.next()).toMatchObject({ text: "a" });
    const second = agent.run("again", { agentId: "a", runId: "m2", whenBusy: "queue" });
    (await model.request(0)).end();
    (await model.request(1)).write("b");
    for (const client of [unnamed, named]) expect([...((await client?.rest())?.texts.values() ?? [])]).toEqual(["a"]);
    (await model.request(1)).end();
    await Promise.all([first, second]);
  });

  it("continues after its position, also when the response has been stored meanwhile", async () => {
    const { model, agent, storage, store } = desk();
    const run = agent.run("go", { agentId: "a" });
    const first = await model.request(0);
    const client = reader(streams(agent).attach("a"));
    first.write("a");
    first.write("b");
    await client.next();
    const after = (await client.next())?.position;
    await client.leave();
    first.write("c");
    const late = reader(attachStream({ storage, store }, "a", { after }));
    expect(await late.next()).toMatchObject({ text: "c" });
    await late.leave();
    first.write("d");
    first.end(["look"]);
    (await model.request(1)).write("e");
    await expect.poll(async () => (await store.read("a")).flatMap(({ chunks }) => chunks).length).toBe(1);
    const resumed = reader(streams(agent).attach("a", { after }));
    expect(await resumed.next()).toMatchObject({ text: "cd" });
    const inside = (await resumed.next())?.position;
    await resumed.leave();
    (await model.request(1)).write("f");
    (await model.request(1)).end();
    await run;
    expect([...(await reader(streams(agent).attach("a", { after: inside })).rest()).texts.values()]).toEqual(["f"]);
    expect([...(await reader(streams(agent).attach("a", { after })).rest()).texts.values()]).toEqual(["cd", "ef"]);
  });

  it("continues after its position in a visit with a snapshot", async () => {
    const model = new WrittenModel();
    const [storage, store] = [new InMemoryPersistenceStorageProvider(), new CountedStore()];
    const snapshots = async () => {
      const kinds: string[] = [];
      for await (const { records } of storage.log.read("a")) kinds.push(...records.map(({ kind }) => kind));
      return kinds.filter((kind) => kind === "snapshot").length;
    };
    const long = strategy<string, string>("long", (graph) => {
      const work = graph.node("work", async (input: string, context) => {
        for (let note = 0; note < 4_000; note++) persistence(context).note({ key: "k", value: "y".repeat(300) });
        await persistence(context).createCheckpoint({ nodeId: "work", lastInput: input });
        await expect.poll(snapshots).toBeGreaterThan(0);
        await context.llm.request();
        await context.llm.request();
        return "done";
      });
      graph.edge(graph.start, work);
      graph.edge(work, graph.finish);
    });
    const agent = new AIAgent({ llmModel: "m", promptExecutor: model, strategy: long })
      .install(Persistence, { storage })
      .install(Streams, { store, batchChunks: 1 });
    const run = agent.run("go", { agentId: "a" });
    (await model.request(0)).end();
    (await model.request(1)).write("a");
    const client = reader(attachStream({ storage, store }, "a"));
    // The empty response to the first request can be a chunk.
    let chunk = await client.next();
    while (chunk && !("text" in chunk && chunk.text === "a")) chunk = await client.next();
    const after = chunk?.position;
    await client.leave();
    (await model.request(1)).write("b");
    const late = reader(attachStream({ storage, store }, "a", { after }));
    expect(await late.next()).toMatchObject({ text: "b" });
    await late.leave();
    (await model.request(1)).end();
    await run;
  });

  it("without a position sees the run in progress, and no finished one", async () => {
    const { model, agent } = desk();
    const run = agent.run("go", { agentId: "a" });
    const first = await model.request(0);
    first.write("a");
    first.end(["look"]);
    (await model.request(1)).write("b");
    const client = reader(streams(agent).attach("a"));
    expect(await client.next()).toMatchObject({ text: "a" });
    expect(await client.next()).toMatchObject({ text: "b" });
    (await model.request(1)).end();
    await run;
    expect(await client.next()).toBeUndefined();
    expect(await reader(streams(agent).attach("a")).next()).toBeUndefined();
    expect(await reader(streams(agent).attach("unknown")).next()).toBeUndefined();
  });

  it("is told to drop the parts of a request that is retried", async () => {
    const { model, agent } = desk();
    const run = agent.run("go", { agentId: "a" });
    await model.request(0);
    const client = reader(streams(agent).attach("a"));
    const waiting = client.next();
    (await model.request(0)).write("wrong");
    expect(await waiting).toMatchObject({ text: "wrong" });
    (await model.request(0)).fail(Object.assign(new Error("overloaded"), { retryable: true }));
    (await model.request(1)).write("right");
    expect(await client.next()).toMatchObject({ type: "restart" });
    expect(await client.next()).toMatchObject({ text: "right" });
    (await model.request(1)).end();
    await run;
    expect([...(await client.rest()).texts.values()]).toEqual(["right"]);
  });

  it("is told to drop an interrupted response, and sees the next one alone", async () => {
    const { model, agent, store } = desk();
    const controller = new AbortController();
    const interrupted = agent.run("go", { agentId: "a", signal: controller.signal });
    (await model.request(0)).write("half an answer");
    const client = reader(streams(agent).attach("a"));
    const after = (await client.next())?.position;
    await client.leave();
    controller.abort(new Error("stopped"));
    await expect(interrupted).rejects.toThrow("stopped");
    expect(await store.read("a")).toEqual([]);
    const run = agent.resume({ agentId: "a" });
    (await model.request(1)).write("another");
    const resumed = reader(streams(agent).attach("a", { after }));
    expect(await resumed.next()).toMatchObject({ type: "restart", nodeId: "callModel" });
    expect(await resumed.next()).toMatchObject({ text: "another" });
    (await model.request(1)).end();
    await run;
    await resumed.rest();
  });

  it("that reconnects 200 times sees each chunk once and in order", async () => {
    const { model, agent } = desk();
    const run = agent.run("go", { agentId: "a" });
    const turns = 4;
    const write = async () => {
      for (let turn = 0; turn < turns; turn++) {
        const request = await model.request(turn);
        for (let token = 0; token < 100; token++) {
          request.write(`${turn}:${token} `);
          if (token % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        request.end(turn < turns - 1 ? ["look"] : []);
      }
      await run;
    };
    await model.request(0);
    const written = write();
    const view = new ClientView();
    let after: string | undefined = ClientView.start;
    for (let connected = 0; connected < 200; connected++) {
      const client = streams(agent).attach("a", { after, pollMs: 1 });
      for (let left = 1 + (connected % 3); left > 0; left--) {
        const { value } = await client.next();
        if (value) view.add(value);
        after = value?.position ?? after;
      }
      await client.return(undefined);
    }
    await written;
    for await (const chunk of streams(agent).attach("a", { after })) view.add(chunk);
    expect(view.restarts).toBe(0);
    const words = Array.from({ length: turns }, (_turn, turn) =>
      Array.from({ length: 100 }, (_token, token) => `${turn}:${token} `).join(""),
    );
    expect([...view.texts.values()]).toEqual(words);
  });

  it("sees each chunk if the onDelta of the run throws", async () => {
    const { model, agent } = desk();
    const seen: string[] = [];
    const onDelta = (delta: RunDelta) => {
      seen.push("text" in delta ? delta.text : "");
      throw new Error("the connection is closed");
    };
    const run = agent.run("go", { agentId: "a", onDelta });
    const request = await model.request(0);
    const client = reader(streams(agent).attach("a"));
    for (const text of ["a", "b"]) {
      request.write(text);
      expect(await client.next()).toMatchObject({ text });
    }
    request.end();
    await run;
    await client.rest();
    expect(seen).toEqual(["a"]);
  });

  it("ends when its signal aborts", async () => {
    const { model, agent } = desk();
    const run = agent.run("go", { agentId: "a" });
    const controller = new AbortController();
    await model.request(0);
    const client = reader(streams(agent).attach("a", { signal: controller.signal }));
    const next = client.next();
    controller.abort();
    expect(await next).toBeUndefined();
    (await model.request(0)).end();
    await run;
  });
});

describe("the polls of a client", () => {
  const pollsIn = (silentMs: number) => {
    const polls = new PollIntervals(100);
    let count = 0;
    for (let ms = 0; ms < silentMs; count++) ms += polls.next(false);
    return count;
  };

  it("become rarer during a silence, at most ten times and by a tenth of the silence", () => {
    expect([1_000, 10_000, 60_000].map(pollsIn)).toEqual([10, 35, 85]);
    const polls = new PollIntervals(100);
    let silentMs = 0;
    for (let poll = 0; poll < 100; poll++) {
      const ms = polls.next(false);
      expect(ms).toBeLessThanOrEqual(Math.max(100, silentMs / 10));
      silentMs += ms;
    }
    expect([polls.next(false), polls.next(true)]).toEqual([1_000, 100]);
  });

  it("read no chunks of other runs before the run that it names", async () => {
    const { model, agent, storage, store } = desk();
    const run = agent.run("go", { agentId: "a", runId: "m1" });
    (await model.request(0)).write("a");
    const [readLog, readStore] = [vi.spyOn(storage.log, "read"), vi.spyOn(store, "read")];
    const client = reader(streams(agent).attach("a", { runId: "m2", pollMs: 1 }));
    const chunk = client.next();
    await expect.poll(() => readLog.mock.calls.length).toBeGreaterThan(2);
    expect(readStore).not.toHaveBeenCalled();
    (await model.request(0)).end();
    await run;
    const next = agent.run("again", { agentId: "a", runId: "m2" });
    (await model.request(1)).write("b");
    expect(await chunk).toMatchObject({ text: "b" });
    (await model.request(1)).end();
    await next;
    await client.rest();
  });

  it.each(Object.entries(storesUnderTest))("are not awaited for a chunk of its process %s", async (_name, make) => {
    const { model, agent, storage, store } = desk({ batchChunks: 1, store: (await make()).store });
    const run = agent.run("go", { agentId: "a" });
    await model.request(0);
    const client = reader(attachStream({ storage, store }, "a", { pollMs: 2 ** 30 }));
    for (const text of ["a", "b", "c"]) {
      const chunk = client.next();
      (await model.request(0)).write(text);
      expect(await chunk).toMatchObject({ text });
    }
    (await model.request(0)).end();
    await run;
    await client.leave();
  });
});

describe("the chunks of a response", () => {
  it("of 1,000 tokens take at most 20 appends, whether the model is fast or slow", async () => {
    for (const tokenMs of [0, 10, 1_000]) {
      const clock = new SimulatedClock();
      const { model, agent, store } = desk({ clock });
      const run = agent.run("go", { agentId: "a" });
      const request = await model.request(0);
      for (let token = 0; token < 1_000; token++) {
        request.write(`${token} `);
        clock.advance(tokenMs);
        await Promise.resolve();
      }
      expect(store.appends).toBeGreaterThan(0);
      await new Promise((resolve) => setImmediate(resolve));
      const stored = (await store.read("a")).flatMap(({ chunks }) => chunks).length;
      request.end();
      await run;
      expect(store.appends).toBeLessThanOrEqual(20);
      expect(stored).toBeGreaterThan(900);
    }
  });

  it("are read from the log if the store fails, and the run completes", async () => {
    const { model, agent, store } = desk();
    store.fails = true;
    const run = agent.run("go", { agentId: "a" });
    await model.request(0);
    const client = reader(streams(agent).attach("a"));
    const next = client.next();
    (await model.request(0)).write("a");
    (await model.request(0)).write("b");
    (await model.request(0)).end();
    expect(await next).toMatchObject({ text: "ab" });
    expect(await run).toMatchObject({ status: "completed", output: "ab" });
  });

  it("follow in order after an outage of the store", async () => {
    const { model, agent, store } = desk();
    const run = agent.run("go", { agentId: "a" });
    const request = await model.request(0);
    const client = reader(streams(agent).attach("a"));
    store.fails = true;
    request.write("a");
    await new Promise((resolve) => setImmediate(resolve));
    request.write("b");
    await new Promise((resolve) => setImmediate(resolve));
    store.fails = false;
    request.write("c");
    for (const text of ["a", "b", "c"]) expect(await client.next()).toMatchObject({ text });
    request.end();
    await run;
    await client.rest();
  });
});

describe("wrong use", () => {
  it.each<[string, (made: ReturnType<typeof desk>) => unknown]>([
    ["a position that is none", ({ agent }) => streams(agent).attach("a", { after: "x" })],
    ["a position of other content", ({ agent }) => streams(agent).attach("a", { after: btoa("[1,2,3]") })],
    ["a poll of 0 ms", ({ agent }) => streams(agent).attach("a", { pollMs: 0 })],
    ["an unknown option", ({ agent }) => streams(agent).attach("a", { from: 1 } as never)],
    ["a source without a store", ({ storage }) => attachStream({ storage } as never, "a")],
    ["an argument that is no agent", () => streams({} as never)],
    ["a store without methods", () => new AIAgent(config).install(Streams, { store: {} as never })],
    ["batches of 0 chunks", ({ store }) => new AIAgent(config).install(Streams, { store, batchChunks: 0 })],
  ])("refuses %s", (_name, call) => {
    expect(() => call(desk())).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });

  const config = { llmModel: "m", promptExecutor: new WrittenModel() };

  it("refuses an invalid agent id", () => {
    expect(() => streams(desk().agent).attach("")).toThrow(expect.objectContaining({ code: "invalid_agent_id" }));
  });

  it("refuses a run without Persistence, or with Persistence installed later", async () => {
    const missing = { code: "feature_not_installed" };
    const store = new InMemoryStreamStore();
    await expect(new AIAgent(config).install(Streams, { store }).run("go")).rejects.toMatchObject(missing);
    const late = new AIAgent(config)
      .install(Streams, { store })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() });
    await expect(late.run("go")).rejects.toMatchObject(missing);
    expect(() => streams(new AIAgent(config))).toThrow(expect.objectContaining(missing));
  });
});
