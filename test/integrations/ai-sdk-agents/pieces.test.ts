import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { InMemoryStreamStore, type StreamStore } from "agent-persistence/streams";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { HostedPieces } from "../../../src/integrations/hosted/HostedPieces.ts";
import { StreamWriters } from "../../../src/streams/write/StreamWriters.ts";
import { Gate } from "./support/gate.ts";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

type Part = Readonly<Record<string, unknown>> & { readonly type: string };

/** A model whose stream a test writes. */
function writtenModel(sdk: Sdk) {
  const controllers: ReadableStreamDefaultController<Part>[] = [];
  let asked = () => {};
  const model = scriptedModel([], sdk);
  model.doStream = async () => ({
    stream: new ReadableStream({
      start(controller) {
        controllers.push(controller as unknown as ReadableStreamDefaultController<Part>);
        asked();
      },
    }),
  });
  return {
    model,
    async write(index: number, ...parts: readonly Part[]) {
      while (controllers.length <= index) await new Promise<void>((resolve) => (asked = resolve));
      for (const part of parts) controllers[index]?.enqueue(part);
      if (parts.at(-1)?.type === "finish") controllers[index]?.close();
    },
    fail: (index: number, error: Error) => controllers[index]?.error(error),
  };
}

class CountedStore extends InMemoryStreamStore {
  appends = 0;

  override async append(...entry: Parameters<StreamStore["append"]>): Promise<void> {
    this.appends++;
    return super.append(...entry);
  }
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const finish = (unified: string) => ({ type: "finish", finishReason: { unified, raw: unified }, usage });
const delta = (text: string, id = "t") => ({ type: "text-delta", id, delta: text });

/** Makes each failed request once more. */
function retrying<Model extends object>(model: Model): Model {
  return new Proxy(model, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (key !== "doStream") return value;
      const stream = (call: unknown) => (value as (call: unknown) => Promise<unknown>).call(target, call);
      return (call: unknown) => stream(call).catch(() => stream(call));
    },
  });
}

function servers(sdk: Sdk) {
  const { tool, ToolLoopAgent } = sdk.ai;
  const [storage, streams, written] = [new InMemoryPersistenceStorageProvider(), new CountedStore(), writtenModel(sdk)];
  const find = tool({ inputSchema: z.object({ id: z.string() }), execute: () => "found" });
  const server = () =>
    durableAgent(
      { storage, streams, abortGraceMs: 0 },
      (durable) =>
        new ToolLoopAgent({
          id: "desk",
          model: retrying(durable.model(written.model)),
          tools: durable.tools({ find }, { find: { effect: "none" } }),
          maxRetries: 0,
        }),
    );
  return { storage, written, streams, one: server(), other: server() };
}

/** Reads a stream of UI chunks until a text arrives. */
function textReader(stream: { toUIMessageStream(options: object): ReadableStream<unknown> }) {
  const onError = (error: unknown) => String((error as { code?: string }).code);
  const reader = stream.toUIMessageStream({ onError }).getReader();
  const chunks: Part[] = [];
  return {
    chunks,
    async next(): Promise<string | undefined> {
      for (;;) {
        const { value } = await reader.read();
        if (!value) return undefined;
        chunks.push(value as Part);
        if ((value as Part).type === "text-delta") return String((value as Part)["delta"]);
      }
    },
  };
}

describe.each(sdks)("a client of another server, with the AI SDK $version", (sdk) => {
  it("sees texts while the model writes them, and each text once", async () => {
    const { written, streams, one, other } = servers(sdk);
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Let "));
    const attached = textReader((await other.for("a").attach())!);
    expect(await attached.next()).toBe("Let ");
    await written.write(0, delta("me "));
    expect(await attached.next()).toBe("me ");
    await written.write(0, delta("look."), { type: "text-end", id: "t" });
    await written.write(0, { type: "tool-call", toolCallId: "c", toolName: "find", input: '{"id":"7"}' });
    await written.write(0, finish("tool-calls"));
    await written.write(1, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Found "));
    const texts: (string | undefined)[] = [];
    while (texts.at(-1) !== "Found ") texts.push(await attached.next());
    expect(texts.slice(0, -1).join("")).toBe("look.");
    const late = textReader((await other.for("a").attach())!);
    expect([await late.next(), await late.next()]).toEqual(["Let me look.", "Found "]);
    await written.write(1, delta("it."), { type: "text-end", id: "t" }, finish("stop"));
    expect(await stream.text).toBe("Found it.");
    for (const reader of [attached, late]) {
      expect(await reader.next()).toBe("it.");
      expect(await reader.next()).toBeUndefined();
      const types = reader.chunks.map(({ type }) => type);
      expect(types.filter((type) => type === "text-start")).toHaveLength(2);
      expect(types.filter((type) => type === "text-end")).toHaveLength(2);
      expect(types.filter((type) => type === "tool-output-available")).toHaveLength(1);
    }
    await expect.poll(() => streams.read("a")).toEqual([]);
    expect(await other.for("a").attach()).toBeUndefined();
  });

  it.each([
    ["fails", () => Promise.reject(new Error("down"))],
    ["does not reply", () => new Promise<never>(() => {})],
  ])("sees each response when it is complete if the stream store %s", async (_case, read) => {
    const { written, streams, one, other } = servers(sdk);
    streams.read = read;
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Hello."));
    const attached = textReader((await other.for("a").attach())!);
    const text = attached.next();
    await written.write(0, { type: "text-end", id: "t" }, finish("stop"));
    expect(await stream.text).toBe("Hello.");
    expect(await text).toBe("Hello.");
    expect(await attached.next()).toBeUndefined();
    expect(attached.chunks.map(({ type }) => type)).not.toContain("error");
  });

  it("gets an error instead of another response if the response is interrupted, and then the whole new one", async () => {
    const { written, one, other } = servers(sdk);
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    const ended = Promise.resolve(stream.consumeStream()).catch(() => undefined);
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Wrong "));
    const attached = textReader((await other.for("a").attach())!);
    expect(await attached.next()).toBe("Wrong ");
    written.fail(0, new Error("connection lost"));
    await ended;
    expect(await attached.next()).toBeUndefined();
    // A stream that only breaks off looks complete in a client.
    expect(attached.chunks.at(-1)).toEqual({ type: "error", errorText: "run_stopped" });
    const resumed = one.for("a").resumeStream();
    await written.write(1, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Right"));
    const again = textReader((await other.for("a").attach())!);
    expect(await again.next()).toBe("Right");
    await written.write(1, { type: "text-end", id: "t" }, finish("stop"));
    expect(await (await resumed).text).toBe("Right");
    expect(await again.next()).toBeUndefined();
  });

  it("sees texts while the model writes them after a request that failed", async () => {
    const { written, one, other } = servers(sdk);
    const { model } = written;
    const doStream = model.doStream.bind(model);
    model.doStream = async () => {
      model.doStream = doStream;
      throw new Error("overloaded");
    };
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    const attached = textReader((await other.for("a").attach())!);
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Let "));
    expect(await attached.next()).toBe("Let ");
    await written.write(0, delta("me look."), { type: "text-end", id: "t" });
    await written.write(0, { type: "tool-call", toolCallId: "c", toolName: "find", input: '{"id":"7"}' });
    await written.write(0, finish("tool-calls"));
    await written.write(1, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Found "));
    const texts: (string | undefined)[] = [];
    while (texts.at(-1) !== "Found ") texts.push(await attached.next());
    expect(texts.slice(0, -1).join("")).toBe("me look.");
    await written.write(1, delta("it."), { type: "text-end", id: "t" }, finish("stop"));
    expect(await stream.text).toBe("Found it.");
    expect([await attached.next(), await attached.next()]).toEqual(["it.", undefined]);
    expect(attached.chunks.map(({ type }) => type)).not.toContain("error");
  });

  it("may leave while the storage does not respond", async () => {
    const { storage, written, one, other } = servers(sdk);
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Let "));
    const leaving = new AbortController();
    const attached = textReader((await other.for("a").attach({ abortSignal: leaving.signal }))!);
    expect(await attached.next()).toBe("Let ");
    const gate = new Gate();
    const { log } = storage;
    const owner = log.owner.bind(log);
    log.owner = (agentId) => gate.pass().then(() => owner(agentId));
    await gate.reached;
    const next = vi.spyOn(HostedPieces.prototype, "next");
    leaving.abort(new Error("left"));
    // A loop of microtasks would leave no time for anything else in the process.
    for (let turn = 0; turn < 1_000; turn++) await Promise.resolve();
    const calls = next.mock.calls.length;
    next.mockRestore();
    gate.open();
    expect(calls).toBeLessThan(10);
    expect(await attached.next()).toBeUndefined();
    await written.write(0, { type: "text-end", id: "t" }, finish("stop"));
    expect(await stream.text).toBe("Let ");
  });

  it("leaves no texts in the store that a model writes after the run was canceled", async () => {
    const { written, streams, one } = servers(sdk);
    const canceled = new Gate();
    const { model } = written;
    const doStream = model.doStream.bind(model);
    model.doStream = async (options) => {
      const { stream } = await doStream(options);
      const reader = stream.getReader();
      const pull = async (controller: ReadableStreamDefaultController) => {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      };
      return { stream: new ReadableStream({ pull, cancel: () => void canceled.pass() }) };
    };
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    const ended = Promise.resolve(stream.consumeStream()).catch(() => undefined);
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" }, delta("Let "));
    await expect.poll(() => streams.appends).toBe(1);
    await one.agent("a").cancel();
    await ended;
    await canceled.reached;
    await written.write(0, delta("me "), delta("look."));
    expect([streams.appends, await streams.read("a")]).toEqual([1, []]);
  });

  it("costs at most 20 appends for a response of 1,000 tokens", async () => {
    const { written, streams, one } = servers(sdk);
    const stream = await one.for("a").stream({ prompt: "Find 7." });
    await written.write(0, { type: "stream-start", warnings: [] }, { type: "text-start", id: "t" });
    for (let token = 0; token < 1_000; token++) await written.write(0, delta(`${token} `));
    await written.write(0, { type: "text-end", id: "t" }, finish("stop"));
    expect((await stream.text).length).toBeGreaterThan(3_000);
    expect(streams.appends).toBeGreaterThan(10);
    expect(streams.appends).toBeLessThanOrEqual(20);
  });

  it("is served by a writer that ends when the run waits", { timeout: 20_000 }, async () => {
    const during = vi.spyOn(StreamWriters.prototype, "during");
    const storage = new InMemoryPersistenceStorageProvider();
    const model = scriptedModel([[calling("pay", {})], text("Paid.")], sdk);
    const pay = sdk.ai.tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "paid" });
    const agents = durableAgent(
      { storage, streams: new InMemoryStreamStore() },
      (durable) => new sdk.ai.ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ pay }) }),
    );
    await agents.for("a").generate({ prompt: "Pay." });
    const [first] = during.mock.results;
    during.mockRestore();
    expect(await first?.value).toMatchObject({ status: "waiting" });
  });
});
