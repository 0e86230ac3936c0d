import { createAnthropic } from "@ai-sdk/anthropic";
import { createAnthropic as createAnthropic7 } from "anthropic7";
import { piecesOf, type Turn, type Wire } from "./Wire.ts";

type Block = Readonly<Record<string, unknown>> & { readonly type: string };

/** The Messages API of Anthropic. */
export const anthropic: Wire = {
  name: "anthropic.messages",
  model: ({ version }, baseURL) => creatorOf(version)({ baseURL, apiKey: "secret" })("claude-sonnet-4-5"),
  hostedTools: ({ version }) => ({ web_search: creatorOf(version)({ apiKey: "s" }).tools.webSearch_20250305({}) }),
  isStreamed: (_path, body) => body["stream"] === true,
  resultsIn: ({ messages }) =>
    (messages as { content: string | Block[] }[])
      .flatMap(({ content }) => (typeof content === "string" ? [] : content))
      .filter(({ type }) => type === "tool_result").length,
  whole: (turn, index) => ({ ...messageOf(index), ...endOf(turn), content: blocksOf(turn, index), usage }),
  events: (turn, index) => [
    { type: "message_start", message: { ...messageOf(index), content: [], stop_reason: null, usage } },
    ...blocksOf(turn, index).flatMap((block, at) => [
      { type: "content_block_start", index: at, content_block: beginningOf(block) },
      ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index: at, delta })),
      { type: "content_block_stop", index: at },
    ]),
    { type: "message_delta", delta: endOf(turn), usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ],
};

function creatorOf(version: 6 | 7): typeof createAnthropic {
  // The types of version 7 are those of another package.
  return version === 6 ? createAnthropic : (createAnthropic7 as unknown as typeof createAnthropic);
}

const usage = { input_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 9 };

function messageOf(index: number) {
  return {
    id: `msg_${index}`,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5-20250929",
    stop_sequence: null,
  };
}

function endOf({ calls = [] }: Turn) {
  return { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
}

const found = { url: "https://example.org/7", title: "Order 7" };

function blocksOf({ reasoning, hosted, text, calls = [] }: Turn, index: number): readonly Block[] {
  const searched: readonly Block[] = [
    { type: "server_tool_use", id: `srvtoolu_${index}`, name: "web_search", input: { query: hosted } },
    {
      type: "web_search_tool_result",
      tool_use_id: `srvtoolu_${index}`,
      content: [{ type: "web_search_result", ...found, encrypted_content: "EqgfCioIARgB", page_age: null }],
    },
  ];
  const citation = { type: "web_search_result_location", ...found, cited_text: "9 euros", encrypted_index: "Eo8BCio" };
  return [
    ...(reasoning === undefined
      ? []
      : [
          { type: "thinking", thinking: reasoning, signature: `signature ${index}` },
          { type: "redacted_thinking", data: `redacted ${index}` },
        ]),
    ...(hosted === undefined ? [] : searched),
    ...(text === undefined ? [] : [{ type: "text", text, ...(hosted !== undefined && { citations: [citation] }) }]),
    ...calls.map(({ toolName, input }, at) => ({
      type: "tool_use",
      id: `toolu_${index}_${at}`,
      name: toolName,
      input,
    })),
  ];
}

function beginningOf(block: Block): object {
  switch (block.type) {
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "text":
      return { type: "text", text: "", ...("citations" in block && { citations: [] }) };
    case "tool_use":
    case "server_tool_use":
      return { ...block, input: {} };
    default:
      return block;
  }
}

function deltasOf(block: Block): readonly object[] {
  switch (block.type) {
    case "thinking":
      return [
        ...piecesOf(block["thinking"] as string).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block["signature"] },
      ];
    case "text":
      return [
        ...piecesOf(block["text"] as string).map((text) => ({ type: "text_delta", text })),
        ...((block["citations"] ?? []) as object[]).map((citation) => ({ type: "citations_delta", citation })),
      ];
    case "tool_use":
    case "server_tool_use":
      return piecesOf(JSON.stringify(block["input"])).map((partial_json) => ({
        type: "input_json_delta",
        partial_json,
      }));
    default:
      return [];
  }
}
