import type { AgentInputItem, AgentOutputItem } from "@openai/agents-core";
import { type Fields, piecesOf, resultItem, textOf, type Wire } from "./wire.ts";

/** The Chat Completions API. */
export const chatWire: Wire = {
  path: "/v1/chat/completions",
  items: ({ messages }) =>
    (messages as Fields[]).map((message) =>
      message["role"] === "tool"
        ? resultItem(message["tool_call_id"], message["content"])
        : (message as unknown as AgentInputItem),
    ),
  answer: (items, id) => ({
    ...frameOf(id, "chat.completion"),
    choices: [{ index: 0, message: messageOf(items), logprobs: null, finish_reason: finishOf(items) }],
    usage,
  }),
  events: (items, id) => {
    const chunk = (delta: Fields, finish_reason: string | null = null): Fields => ({
      ...frameOf(id, "chat.completion.chunk"),
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    });
    const deltas = deltasOf(messageOf(items));
    const last = { ...frameOf(id, "chat.completion.chunk"), choices: [], usage };
    return [
      chunk({ role: "assistant", content: null }),
      ...deltas.map((delta) => chunk(delta)),
      chunk({}, finishOf(items)),
      last,
    ];
  },
};

const usage = {
  prompt_tokens: 36,
  completion_tokens: 87,
  total_tokens: 123,
  prompt_tokens_details: { cached_tokens: 12, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 64, audio_tokens: 0 },
};

interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

interface ChatMessage {
  readonly role: "assistant";
  readonly content: string | null;
  readonly refusal: null;
  readonly reasoning?: string;
  readonly tool_calls?: readonly ToolCall[];
}

function frameOf(id: string, object: string): Fields {
  const model = "gpt-5-2025-08-07";
  return { id, object, created: 1_741_569_952, model, service_tier: "default", system_fingerprint: null };
}

function messageOf(items: readonly AgentOutputItem[]): ChatMessage {
  const texts = items.flatMap((item) => textOf(item) ?? []);
  const reasoning = items.flatMap((item) => (item.type === "reasoning" ? item.content.map(({ text }) => text) : []));
  const calls = items.flatMap((item): ToolCall[] => {
    if (item.type !== "function_call") return [];
    return [{ id: item.callId, type: "function", function: { name: item.name, arguments: item.arguments } }];
  });
  return {
    role: "assistant",
    content: texts.length > 0 ? texts.join("") : null,
    refusal: null,
    ...(reasoning.length > 0 && { reasoning: reasoning.join("") }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function finishOf(items: readonly AgentOutputItem[]): string {
  return items.some(({ type }) => type === "function_call") ? "tool_calls" : "stop";
}

function deltasOf({ content, reasoning = "", tool_calls = [] }: ChatMessage): Fields[] {
  const calls = tool_calls.flatMap(({ function: { name, arguments: written }, ...call }, index) => [
    { tool_calls: [{ index, ...call, function: { name, arguments: "" } }] },
    ...piecesOf(written).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
  return [
    ...piecesOf(reasoning).map((piece) => ({ reasoning: piece })),
    ...piecesOf(content ?? "").map((piece) => ({ content: piece })),
    ...calls,
  ];
}
