import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { z } from "zod";

// An agent of the AI SDK that is installed. Version 7 needs Node 22.
const { version } = createRequire(import.meta.url)("ai/package.json");
const [major, node] = [Number(version.split(".")[0]), Number(process.versions.node.split(".")[0])];
if (major >= 7 && node < 22) {
  console.log(`ai ${version}: not on this Node`);
  process.exit(0);
}
const { ToolLoopAgent, tool } = await import("ai");
const mocks = await import("ai/test");
const MockLanguageModel = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const answer = (unified, ...content) => ({ content, finishReason: { unified, raw: unified }, usage, warnings: [] });
const answers = [
  answer("tool-calls", { type: "tool-call", toolCallId: "1", toolName: "refund", input: '{"cents":700}' }),
  answer("stop", { type: "text", text: "All is refunded." }),
];
let asked = 0;
let refunds = 0;
const refund = tool({
  description: "Refunds money.",
  inputSchema: z.object({ cents: z.int() }),
  execute: async ({ cents }) => ({ refunded: cents, number: ++refunds }),
});
const next = () => answers[asked++] ?? assert.fail("asked again");
const streamed = ({ content: [part], finishReason }) => [
  { type: "stream-start", warnings: [] },
  ...(part.type === "text"
    ? [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: part.text },
        { type: "text-end", id: "1" },
      ]
    : [part]),
  { type: "finish", finishReason, usage },
];
const model = new MockLanguageModel({
  doGenerate: async () => next(),
  doStream: async () => ({ stream: ReadableStream.from(streamed(next())) }),
});

const desk = durableAgent(
  { storage: new InMemoryPersistenceStorageProvider() },
  (durable) =>
    new ToolLoopAgent({
      id: "desk",
      model: durable.model(model),
      tools: durable.tools({ refund }, { refund: { effect: "idempotent" } }),
    }),
);
const order7 = desk.for("order-7", { runId: "r-1" });
assert.equal((await order7.generate({ prompt: "Refund order 7." })).text, "All is refunded.");
const again = await order7.generate({ prompt: "Refund order 7." });
assert.equal(again.text, "All is refunded.");
assert.deepEqual(again.steps[0].toolResults[0].output, { refunded: 700, number: 1 });
assert.deepEqual([asked, refunds], [2, 1]);

asked = 0;
const order8 = desk.for("order-8", { runId: "r-1" });
async function textOf({ textStream }) {
  let text = "";
  for await (const piece of textStream) text += piece;
  return text;
}
assert.equal(await textOf(await order8.stream({ prompt: "Refund order 8." })), "All is refunded.");
assert.equal(await textOf(await order8.stream({ prompt: "Refund order 8." })), "All is refunded.");
assert.deepEqual([asked, refunds], [2, 2]);
console.log(`ai ${version}: a run that is asked for again repeats nothing`);
