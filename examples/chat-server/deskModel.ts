import { type LanguageModel, simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";

type Streamed = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"];
type Part = Streamed extends ReadableStream<infer Item> ? Item : never;

/**
 * A model without a key and without a network: it looks the order up, refunds it, and says what came of it.
 *
 * @param patience it waits for before its last answer.
 */
export function deskModel(patience: Promise<void>): LanguageModel {
  return new MockLanguageModelV3({
    modelId: "desk",
    doStream: async ({ prompt }) => {
      const results = prompt.filter(({ role }) => role === "tool").length;
      if (results === answers.length - 1) await patience;
      const calls = answers[results]?.call ?? [];
      const unified = calls.length > 0 ? "tool-calls" : "stop";
      const chunks: Part[] = [
        { type: "stream-start", warnings: [] },
        ...saying(answers[results]?.text ?? ""),
        ...calls,
        { type: "finish", finishReason: { unified, raw: unified }, usage },
      ];
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: 10 }) };
    },
  });
}

/** By how many calls have been answered before. */
const answers: readonly { readonly text: string; readonly call?: readonly Part[] }[] = [
  { text: "I look the order up.", call: [calling("look_up", { order: "order 7" })] },
  { text: "It costs 25 euros. I refund it.", call: [calling("refund", { order: "order 7", euros: 25 })] },
  { text: "Order 7 is refunded." },
];

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

function calling(toolName: string, input: object): Part {
  return { type: "tool-call", toolCallId: `call_${toolName}`, toolName, input: JSON.stringify(input) };
}

/** A text, word by word. */
function saying(text: string): readonly Part[] {
  const words = text.split(/(?<= )/);
  return [
    { type: "text-start", id: "1" },
    ...words.map((delta): Part => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
  ];
}
