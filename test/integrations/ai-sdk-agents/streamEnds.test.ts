import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent, durableRun } from "agent-persistence/ai-sdk";
import type { ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type ScriptedModel, scriptedModel, streamOf, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

const begun: readonly LanguageModelV3StreamPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "It is" },
];

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const failedCall: readonly LanguageModelV3StreamPart[] = [
  { type: "tool-call", toolCallId: "c", toolName: "find", input: "{}" },
  { type: "error", error: new Error("overloaded") },
  { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
];

/** The last part of a provider of the AI SDK 7 whose connection ended before the response was complete. */
const interruptedEnd = {
  type: "finish",
  finishReason: { unified: "interrupted" as never, raw: undefined },
  usage,
} as const;

/** An agent whose model answers "It is so.". @param first what the first stream is in place of that. */
function talker(sdk: Sdk, first?: () => ReadableStream<LanguageModelV3StreamPart>, tools: ToolSet = {}) {
  const scripted = scriptedModel([text("It is so.")], sdk);
  let isFirst = true;
  const model: ScriptedModel = {
    ...scripted,
    doStream: async (options) => {
      const isBroken = isFirst && first !== undefined;
      isFirst = false;
      return isBroken ? { stream: first() } : scripted.doStream(options);
    },
  };
  const storage = new InMemoryPersistenceStorageProvider();
  const agents = durableAgent(
    { storage },
    (durable) => new sdk.ai.ToolLoopAgent({ model: durable.model(model), tools: durable.tools(tools), maxRetries: 0 }),
  );
  return { agent: agents.for("a"), agents, model };
}

/** What is read of a stream, and what it fails with. */
async function read(stream: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const parts: unknown[] = [];
  try {
    for await (const part of stream) parts.push(part);
  } catch (error) {
    parts.push(error);
  }
  return parts;
}

const broken = () => {
  const left = [...begun];
  return new ReadableStream<LanguageModelV3StreamPart>({
    pull(controller) {
      const part = left.shift();
      if (part) controller.enqueue(part);
      else controller.error(new Error("connection reset"));
    },
  });
};

describe.each(sdks)("the end of a stream of the AI SDK $version", (sdk) => {
  it.each([{ last: [] }, { last: [interruptedEnd] }])(
    "fails the run if the response is incomplete, and a resume repeats the request ($last)",
    async ({ last }) => {
      const { agent, model } = talker(sdk, () => streamOf([...begun, ...last]));
      const parts = await read((await agent.stream({ prompt: "Is it so?" })).fullStream);
      expect(JSON.stringify(parts)).not.toContain("finish-step");
      const resumed = await agent.resume();
      expect(resumed.text).toBe("It is so.");
      expect((await agent.resume()).text).toBe("It is so.");
      expect(model.asked).toHaveLength(1);
    },
  );

  it("reports the error of the model, even if the response requests a call and continues after the error", async () => {
    const made: string[] = [];
    const find = sdk.ai.tool({ inputSchema: z.object({}), execute: () => made.push("found") });
    const { agent } = talker(sdk, () => streamOf(failedCall), { find });
    const parts = await read((await agent.stream({ prompt: "Is it so?" })).fullStream);
    const errors = parts.flatMap((part) => (part as { readonly error?: unknown }).error ?? []);
    expect(new Set(errors.map(String))).toEqual(new Set(["Error: overloaded"]));
    expect((await agent.resume()).text).toBe("It is so.");
    expect(made).toEqual([]);
  });

  it.each([{ finish: [] }, { finish: failedCall.slice(-1) }])(
    "of durableRun fails the run after an error of the model, and the next call requests a response ($finish)",
    async ({ finish }) => {
      const failed = [...begun, { type: "error", error: new Error("overloaded") } as const, ...finish];
      const { model } = talker(sdk, () => streamOf(failed));
      const storage = new InMemoryPersistenceStorageProvider();
      const run = () =>
        durableRun({ storage, agentId: "a" }, async ({ model: wrap }) => {
          const asked = { model: wrap(model), prompt: "Is it so?", onError: () => undefined };
          return sdk.ai.streamText({ ...asked, maxRetries: 0 }).text;
        });
      await expect(run()).rejects.toThrow("overloaded");
      for (let time = 0; time < 2; time++) expect(await run()).toBe("It is so.");
    },
  );

  it.each(["textStream", "fullStream"] as const)("of %s arrives after the agent is released", async (name) => {
    const { agent } = talker(sdk);
    for (const prompt of ["Is it so?", "And now?"]) {
      const result = await agent.stream({ prompt });
      const parts = await read(result[name]);
      if (name === "textStream") expect(parts.join("")).toBe("It is so.");
    }
  });

  it("that has only text arrives after the agent is released", async () => {
    const { agent } = talker(sdk);
    for (const prompt of ["Is it so?", "And now?"]) {
      const response = (await agent.stream({ prompt })).toTextStreamResponse();
      expect(await response.text()).toBe("It is so.");
    }
  });

  it("that fails arrives after the agent is released", async () => {
    const { agent } = talker(sdk, broken);
    const parts = await read((await agent.stream({ prompt: "Is it so?" })).fullStream);
    expect(String(parts.at(-1))).toContain("connection reset");
    expect(await (await agent.resumeStream()).text).toBe("It is so.");
  });
});
