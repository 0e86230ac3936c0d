import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAI as createOpenAI7 } from "openai7";
import { piecesOf, type Wire } from "./Wire.ts";

const usage = {
  prompt_tokens: 20,
  completion_tokens: 9,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
};

/** The Chat Completions API of OpenAI. It shows no reasoning and runs no tools. */
export const openaiChat: Wire = {
  name: "openai.chat",
  model: ({ version }, baseURL) =>
    (version === 6 ? createOpenAI : (createOpenAI7 as unknown as typeof createOpenAI))({
      baseURL,
      apiKey: "secret",
    }).chat("gpt-5-mini"),
  hostedTools: () => ({}),
  isStreamed: (_path, body) => body["stream"] === true,
  resultsIn: ({ messages }) => (messages as { role: string }[]).filter(({ role }) => role === "tool").length,
  whole: ({ text, calls = [] }, index) => ({
    ...about(index, "chat.completion"),
    choices: [
      {
        index: 0,
        finish_reason: calls.length > 0 ? "tool_calls" : "stop",
        message: {
          role: "assistant",
          content: text ?? null,
          refusal: null,
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ toolName, input }, at) => ({
              id: `call_${index}_${at}`,
              type: "function",
              function: { name: toolName, arguments: JSON.stringify(input) },
            })),
          }),
        },
      },
    ],
    usage,
  }),
  events: ({ text, calls = [] }, index) => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...about(index, "chat.completion.chunk"),
      choices: [{ index: 0, delta, finish_reason }],
    });
    const call = (at: number, fields: object) => chunk({ tool_calls: [{ index: at, ...fields }] });
    return [
      chunk({ role: "assistant", content: "" }),
      ...piecesOf(text ?? "").map((content) => chunk({ content })),
      ...calls.flatMap(({ toolName, input }, at) => [
        call(at, { id: `call_${index}_${at}`, type: "function", function: { name: toolName, arguments: "" } }),
        ...piecesOf(JSON.stringify(input)).map((piece) => call(at, { function: { arguments: piece } })),
      ]),
      chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
      { ...about(index, "chat.completion.chunk"), choices: [], usage },
    ];
  },
};

function about(index: number, object: string) {
  return { id: `chatcmpl-${index}`, object, created: 1_700_000_000 + index, model: "gpt-5-mini-2025-08-07" };
}
