import { setTimeout as wait } from "node:timers/promises";
import type { LanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";

type Streamed = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"];
type Part = Streamed extends ReadableStream<infer Item> ? Item : never;

/**
 * A model without a key and without a network: it looks the order up, refunds it, and says what came of it.
 *
 * @param patience it waits for in the middle of its last answer.
 */
export function deskModel(patience: Promise<void>): LanguageModel {
  return new MockLanguageModelV3({
    modelId: "desk",
    doStream: async ({ prompt, abortSignal }) => {
      const results = prompt.filter(({ role }) => role === "tool").length;
      const isLast = results === answers.length - 1;
      const calls = answers[results]?.call ?? [];
      const unified = calls.length > 0 ? "tool-calls" : "stop";
      const chunks: Part[] = [
        { type: "stream-start", warnings: [] },
        ...saying(answers[results]?.text ?? ""),
        ...calls,
        { type: "finish", finishReason: { unified, raw: unified }, usage },
      ];
      return { stream: written(chunks, isLast ? patience : undefined, abortSignal) };
    },
  });
}

/** The parts of a response, one after the other. Pauses after the first words. */
function written(chunks: readonly Part[], patience: Promise<void> | undefined, signal?: AbortSignal): Streamed {
  const aborted = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      if (next === wordsBeforePause + 2) await Promise.race([patience, aborted]);
      await wait(10, undefined, { signal });
      const chunk = chunks[next++];
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
  });
}

/** After the parts `stream-start` and `text-start`. */
const wordsBeforePause = 3;

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
