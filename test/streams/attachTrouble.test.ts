import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, type PromptExecutor } from "agent-persistence";
import { attachStream, InMemoryStreamStore, Streams, type StreamStore } from "agent-persistence/streams";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { HostedPieces } from "../../src/integrations/hosted/HostedPieces.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { ClientView } from "./ClientView.ts";

type Read = StreamStore["read"];

/** A model that writes the second half of its response when it may, and a stream store whose reads can change. */
function desk() {
  let finish = (): void => {};
  const mayFinish = new Promise<void>((resolve) => (finish = resolve));
  const promptExecutor: PromptExecutor = {
    execute: () => Promise.reject(new Error("only streams")),
    async stream(_request, onDelta) {
      onDelta({ type: "text-delta", text: "Hello " });
      await mayFinish;
      onDelta({ type: "text-delta", text: "world" });
      return { message: { role: "assistant", content: "Hello world" } };
    },
  };
  const [storage, store] = [new InMemoryPersistenceStorageProvider(), new InMemoryStreamStore()];
  const agent = new AIAgent({ llmModel: "m", promptExecutor })
    .install(Persistence, { storage })
    .install(Streams, { store, batchDelayMs: 0, batchChunks: 1 });
  const running = agent.run("go", { agentId: "a" });
  const end = async (): Promise<void> => {
    finish();
    expect(await running).toMatchObject({ status: "completed" });
  };
  onTestFinished(end);
  const read: { now: Read } = { now: (...place) => store.read(...place) };
  const source: StreamSourceOf = {
    storage,
    store: {
      append: (...given) => store.append(...given),
      read: (...place) => read.now(...place),
      remove: (...given) => store.remove(...given),
    },
  };
  return { source, read, end, isStored: async () => (await store.read("a")).length > 0 };
}

type StreamSourceOf = Parameters<typeof attachStream>[0];

/** Collects the text of a client, and how its iteration ends. */
function attached(source: StreamSourceOf, options: Parameters<typeof attachStream>[2]) {
  const got = { text: "" };
  const ended = (async () => {
    for await (const chunk of attachStream(source, "a", { pollMs: 1, ...options }))
      if ("text" in chunk) got.text += chunk.text;
    return "ended";
  })();
  return { got, ended };
}

const never = new Promise<never>(() => {});

describe("a client of a stream whose store has a mistake", () => {
  it.each<readonly [string, Read]>([
    ["fails", () => Promise.reject(new Error("down for a moment"))],
    ["throws", () => expect.unreachable()],
    ["never answers", () => never],
  ])("gets the response from the log if the store %s", async (_name, fault) => {
    const { source, read, end, isStored } = desk();
    await expect.poll(isStored).toBe(true);
    const { got, ended } = attached(source, { storeTimeoutMs: 20 });
    await expect.poll(() => got.text).toBe("Hello ");
    let reads = 0;
    read.now = (...place) => {
      reads++;
      return fault(...place);
    };
    await expect.poll(() => reads).toBeGreaterThan(1);
    await end();
    expect(await ended).toBe("ended");
    expect(got.text).toBe("Hello world");
  });

  it("causes one warning for each outage, even if each error has another message", async () => {
    const { source, read, end, isStored } = desk();
    await expect.poll(isStored).toBe(true);
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    const works = read.now;
    const { got, ended } = attached(source, {});
    for (const outage of [1, 2]) {
      await expect.poll(() => got.text).toBe("Hello ");
      let reads = 0;
      read.now = () => Promise.reject(new Error(`request ${outage}-${reads++} failed`));
      await expect.poll(() => reads).toBeGreaterThan(3);
      expect(warned.mock.calls.map(([message]) => message)).toHaveLength(outage);
      let answers = 0;
      read.now = (...place) => {
        answers++;
        return works(...place);
      };
      await expect.poll(() => answers).toBeGreaterThan(1);
    }
    warned.mockRestore();
    await end();
    expect(await ended).toBe("ended");
  });

  it("causes one warning if only its stream cannot be read", async () => {
    const { source, read, end, isStored } = desk();
    await expect.poll(isStored).toBe(true);
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    const works = read.now;
    let failures = 0;
    let answers = 0;
    read.now = (id, after) => {
      if (id === "a") return works(id, after).finally(() => answers++);
      return Promise.reject(new Error(`failure ${failures++}`));
    };
    const { ended } = attached(source, {});
    const stop = new AbortController();
    const { signal } = stop;
    const other = collect(attachStream(source, "b", { runId: "r", after: ClientView.start, pollMs: 1, signal }));
    for (let round = 0; round < 3; round++) {
      const [before, answered] = [failures, answers];
      await expect.poll(() => failures - before > 1 && answers - answered > 1).toBe(true);
    }
    expect(warned.mock.calls).toHaveLength(1);
    warned.mockRestore();
    stop.abort();
    await other;
    await end();
    expect(await ended).toBe("ended");
  });

  it("gets chunks again when the store has recovered", async () => {
    const { source, read, isStored } = desk();
    await expect.poll(isStored).toBe(true);
    const works = read.now;
    let isFirst = true;
    read.now = (...place) => {
      if (!isFirst) return works(...place);
      isFirst = false;
      return never;
    };
    const { got } = attached(source, { storeTimeoutMs: 20 });
    await expect.poll(() => got.text).toBe("Hello ");
  });

  it("ends when its signal aborts, while the store does not answer", async () => {
    const { source, read, isStored } = desk();
    await expect.poll(isStored).toBe(true);
    const stop = new AbortController();
    let isAsked = false;
    read.now = () => {
      isAsked = true;
      return never;
    };
    const { ended } = attached(source, { signal: stop.signal });
    await expect.poll(() => isAsked).toBe(true);
    stop.abort(new Error("the client left"));
    expect(await ended).toBe("ended");
  });

  it.each(["null", "7", "{", '{"type":"text-delta","requestId":"r"}', '{"type":"other","requestId":"r","nodeId":"n"}'])(
    "gets the other chunks if the store has the chunk %s",
    async (chunk) => {
      const [storage, store] = [new InMemoryPersistenceStorageProvider(), new InMemoryStreamStore()];
      await store.append("a", { writer: 1, first: 1, chunks: [chunk, delta] });
      expect(await collect(attachStream({ storage, store }, "a", { after: ClientView.start }))).toMatchObject([
        { type: "text-delta", text: "Hello" },
        { type: "restart" },
      ]);
      const pieces = new HostedPieces({ store, owner: async () => 1 }, "a", { runId: "run", ordinal: 0 });
      expect(await pieces.next(new AbortController().signal)).toEqual([{ kind: "text", index: 0, text: "Hello" }]);
    },
  );

  it("sees no mixture of two responses if the chunk between them is lost", async () => {
    const [storage, store] = [new InMemoryPersistenceStorageProvider(), new InMemoryStreamStore()];
    const chunkOf = (text: string, at: number) =>
      JSON.stringify({ type: "text-delta", text, at, nodeId: "n", requestId: "r" });
    const append = (first: number, ...chunks: string[]) => store.append("a", { writer: 1, first, chunks });
    await append(1, chunkOf("one", 0));
    // Chunk 2, which restarts the response, is lost.
    await append(3, chunkOf("two", 0), chunkOf(" and more", 3));
    const view = new ClientView();
    for await (const chunk of attachStream({ storage, store }, "a", { after: ClientView.start })) {
      view.add(chunk);
      expect(["one", "", "two", "two and more"]).toContain(view.texts.get("r"));
    }
    expect(view.chunks).toBeGreaterThan(0);
  });

  it("learns the branch and the sub-agent of a response that was interrupted", async () => {
    const [storage, store] = [new InMemoryPersistenceStorageProvider(), new InMemoryStreamStore()];
    const place = { nodeId: "n", branch: "both#facts", agentPath: ["helper"], requestId: "r" };
    const chunks = [JSON.stringify({ type: "text-delta", text: "Hello", at: 0, ...place })];
    await store.append("a", { writer: 1, first: 1, chunks });
    const [shown, restart] = await collect(attachStream({ storage, store }, "a", { after: ClientView.start }));
    expect(restart).toEqual({ type: "restart", ...place, position: restart?.position });
    await store.remove("a");
    const [again] = await collect(attachStream({ storage, store }, "a", { after: shown?.position }));
    expect(again).toEqual({ type: "restart", ...place, position: restart?.position });
  });
});

const delta = '{"type":"text-delta","text":"Hello","at":0,"nodeId":"run","requestId":"run 0 0"}';
