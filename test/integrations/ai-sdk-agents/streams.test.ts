import { InMemoryPersistenceStorageProvider, ToolCallInDoubtError } from "agent-persistence";
import { RunNotOpenError } from "agent-persistence/errors";
import { durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { calling, scriptedModel, type Scripted, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";
import { chunksOf, messageOf } from "./support/uiStream.ts";

/** Resolves when it is told to. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

function findingDesk(
  sdk: Sdk,
  script: readonly Scripted[],
  { storage = new InMemoryPersistenceStorageProvider(), until = Promise.resolve(), begun = () => {} } = {},
) {
  const { tool, ToolLoopAgent } = sdk.ai;
  const model = scriptedModel(script, sdk);
  const find = tool({
    inputSchema: z.object({ id: z.string() }),
    execute: async function* ({ id }) {
      begun();
      yield { state: "looking", id };
      await until;
      yield { state: "found", id };
    },
  });
  const desk = durableAgent(
    { storage, abortGraceMs: 0 },
    (durable) =>
      new ToolLoopAgent({ id: "desk", model: durable.model(model), tools: durable.tools({ find }), maxRetries: 0 }),
  );
  return { storage, model, desk };
}

/** From then on nothing is stored. */
function failAppendsOf({ log }: InMemoryPersistenceStorageProvider, kind: string): void {
  const open = log.open.bind(log);
  log.open = async (...given) => {
    const owned = await open(...given);
    const append = owned.append.bind(owned);
    owned.append = async (entry, position) => {
      if (entry.records.some((record) => record.kind === kind)) throw new Error("the disk is full");
      return append(entry, position);
    };
    return owned;
  };
}

const script = [[calling("find", { id: "7" })], text("Found it.")];

describe.each(sdks)("streams of a durable agent of the AI SDK $version", (sdk) => {
  it("continue without a reader, and a client that reconnects to any process gets them in full", async () => {
    const { open, opened } = gate();
    const { storage, desk } = findingDesk(sdk, script, { until: opened });
    const stream = await desk.for("a").stream({ prompt: "Find 7." });
    const reader = stream.toUIMessageStream().getReader();
    for (let type = ""; type !== "tool-output-available";)
      type = (await reader.read()).value?.type ?? "tool-output-available";
    await reader.cancel();
    const own = await desk.for("a").attach();
    const elsewhere = await findingDesk(sdk, [], { storage }).desk.for("a").attach();
    open();
    const [attached, followed] = await Promise.all(
      [own, elsewhere].map((each) => chunksOf(each!.toUIMessageStreamResponse())),
    );
    expect(await own!.text).toBe("Found it.");
    expect(await elsewhere!.text).toBe("Found it.");
    expect(attached![0]).toEqual(followed![0]);
    expect(attached!.filter(({ type }) => type === "tool-output-available")).toMatchObject([
      { output: { state: "looking" }, preliminary: true },
      { output: { state: "found" }, preliminary: true },
      { output: { state: "found" } },
    ]);
    expect(followed!.filter(({ type }) => type === "tool-output-available").at(-1)).toMatchObject({
      output: { state: "found" },
    });
    expect(await desk.for("a").attach()).toBeUndefined();
  });

  it("read the log less often while a tool runs in another process", async () => {
    const [begun, { open, opened }] = [gate(), gate()];
    const { storage, desk } = findingDesk(sdk, script, { until: opened, begun: begun.open });
    const stream = await desk.for("a").stream({ prompt: "Find 7." });
    await begun.opened;
    const owner = vi.spyOn(storage.log, "owner");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const followed = await findingDesk(sdk, [], { storage }).desk.for("a").attach();
      for (let ms = 0; ms < 60_000; ms += 100) {
        await vi.advanceTimersByTimeAsync(100);
        await new Promise(setImmediate);
      }
      expect(owner.mock.calls.length).toBeLessThan(100);
      open();
      let found: string | undefined;
      void Promise.resolve(followed!.text).then((answer) => (found = answer));
      await stream.consumeStream();
      while (found === undefined) {
        await vi.advanceTimersByTimeAsync(1_000);
        await new Promise(setImmediate);
      }
      expect(found).toBe("Found it.");
    } finally {
      vi.useRealTimers();
      open();
    }
  });

  it("show the end of a step only after its response is durable", async () => {
    const { desk, storage } = findingDesk(sdk, [text("Nothing to find.")]);
    failAppendsOf(storage, "answer");
    const stream = await desk.for("a").stream({ prompt: "Find 7." });
    const types: string[] = [];
    const read = async () => {
      for await (const { type } of stream.fullStream) types.push(type);
    };
    await expect(read()).rejects.toThrow("the disk is full");
    expect(types.at(-1)).toBe("text-end");
  });

  it("make two appends per step and give calls their ids from the first chunk", async () => {
    const { desk, storage } = findingDesk(sdk, [
      [calling("find", { id: "7" })],
      [calling("find", { id: "8" })],
      text("Both."),
    ]);
    const stream = await desk.for("a").stream({ prompt: "Find 7 and 8." });
    const ids = new Set<string>();
    for await (const part of stream.fullStream) {
      if (part.type === "tool-input-start" || part.type === "tool-input-delta") ids.add(part.id);
      if (part.type === "tool-call" || part.type === "tool-result") ids.add(part.toolCallId);
    }
    expect(ids.size).toBe(2);
    const kinds = [];
    for await (const { records } of storage.log.read("a")) kinds.push(records.map(({ kind }) => kind));
    const step = [
      ["answer", "intent"],
      ["outcome", "checkpoint"],
    ];
    expect(kinds.slice(1)).toEqual([...step, ...step, ["answer"], ["checkpoint"]]);
  });

  it("reject if the model fails in the middle of a stream, and repeat the request after a resume", async () => {
    const failing = [[{ type: "error", error: new Error("cut off") } as never, ...text("never told")]];
    const { storage, desk } = findingDesk(sdk, failing);
    const stream = await desk.for("a").stream({ prompt: "Find 7.", onStepFinish: () => undefined });
    const parts = await chunksOf(stream.toUIMessageStreamResponse());
    expect(parts.map(({ type }) => type)).toContain("error");
    const unfinished = [];
    for await (const run of desk.unfinished({ includeFailed: true })) unfinished.push(run);
    expect(unfinished).toMatchObject([{ agentId: "a", status: "failed" }]);
    const later = findingDesk(sdk, [text("Nothing to find.")], { storage });
    const resumed = await later.desk.for("a").resumeStream();
    expect((await messageOf(resumed.toUIMessageStreamResponse())).parts.at(-1)).toMatchObject({
      text: "Nothing to find.",
    });
  });

  it("end when the run is canceled, even for a reconnected client", async () => {
    const begun = gate();
    const { desk } = findingDesk(sdk, script, { until: gate().opened, begun: begun.open });
    const stream = await desk.for("a").stream({ prompt: "Find 7." });
    await begun.opened;
    const streams = [stream, (await desk.for("a").attach())!];
    const ends = streams.map(async ({ fullStream }) => {
      let last: string | undefined;
      for await (const { type } of fullStream) last = type;
      return last;
    });
    await desk.agent("a").cancel();
    expect(await Promise.all(ends)).toEqual(["abort", "abort"]);
    await expect(desk.for("a").resume()).rejects.toBeInstanceOf(RunNotOpenError);
  });

  it("end for a client that leaves, in the process of the run as elsewhere, and the run continues", async () => {
    const { open, opened } = gate();
    const begun = gate();
    const { storage, desk } = findingDesk(sdk, script, { until: opened, begun: begun.open });
    const stream = await desk.for("a").stream({ prompt: "Find 7." });
    await begun.opened;
    for (const server of [desk, findingDesk(sdk, [], { storage }).desk]) {
      const leaving = new AbortController();
      const attached = (await server.for("a").attach({ abortSignal: leaving.signal }))!;
      const types: string[] = [];
      const read = async () => {
        for await (const { type } of attached.fullStream) types.push(type);
      };
      const seen = read();
      leaving.abort(new Error("left"));
      await seen;
      expect(types.at(-1)).toBe("abort");
    }
    open();
    expect(await stream.text).toBe("Found it.");
  });

  it("end with the reason when the run is stopped, and continue with a resume", async () => {
    const begun = gate();
    const { storage, desk } = findingDesk(sdk, script, { until: gate().opened, begun: begun.open });
    const stream = await desk.for("a").stream({ prompt: "Find 7." });
    await begun.opened;
    const parts = chunksOf(stream.toUIMessageStreamResponse());
    expect(await desk.agent("a").stop({ reason: "stop button" })).toEqual({ stopped: true, status: "paused" });
    expect((await parts).at(-1)).toMatchObject({ type: "abort" });
    const later = findingDesk(sdk, [[], text("Found it.")], { storage });
    const [call] = await later.desk.agent("a").getToolCallsInDoubt();
    await later.desk.agent("a").settleToolCall(call?.toolCallId ?? "", { output: "7" });
    expect(await later.desk.for("a").resume()).toMatchObject({ text: "Found it." });
  });

  it("can be aborted by their signal and resumed", async () => {
    const begun = gate();
    const { storage, desk } = findingDesk(sdk, script, { until: gate().opened, begun: begun.open });
    const controller = new AbortController();
    const result = desk.for("a").generate({ prompt: "Find 7.", abortSignal: controller.signal });
    void begun.opened.then(() => controller.abort(new Error("enough")));
    await expect(result).rejects.toThrow("enough");
    const later = findingDesk(sdk, [text("Found it.")], { storage });
    await expect(later.desk.for("a").resume()).rejects.toMatchObject({
      code: "tool_call_in_doubt",
      declaration: 'durable.tools(tools, { "find": { effect: "idempotent" } })',
      message: expect.stringContaining(`desk.agent("a").settleToolCall("`) as unknown,
    });
    const shown = [];
    for await (const part of (await later.desk.for("a").resumeStream()).fullStream) shown.push(part);
    expect(shown.filter(({ type }) => type === "error")).toEqual([
      { type: "error", error: expect.any(ToolCallInDoubtError) as unknown },
    ]);
    // The model is not told.
    expect(later.model.asked).toHaveLength(0);
  });
});
