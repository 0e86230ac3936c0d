import { createOpenAI } from "@ai-sdk/openai";
import type { Tool } from "ai";
import { createOpenAI as createOpenAI7 } from "openai7";
import { piecesOf, type Turn, type Wire } from "./Wire.ts";

type Item = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };

/** The Responses API of OpenAI. The server keeps the items of responses, so that requests may refer to them. */
export const openaiResponses: Wire = {
  name: "openai.responses",
  model: ({ version }, baseURL) => creatorOf(version)({ baseURL, apiKey: "secret" })("gpt-5-mini"),
  hostedTools: ({ version }) => ({
    // Its optional fields have other types than those of a tool.
    web_search: creatorOf(version)({ apiKey: "secret" }).tools.webSearch({}) as Tool,
  }),
  isStreamed: (_path, body) => body["stream"] === true,
  resultsIn: ({ input }) => (input as { type?: string }[]).filter(({ type }) => type === "function_call_output").length,
  whole: (turn, index) => responseOf(index, itemsOf(turn, index), "completed"),
  events: (turn, index) => {
    const items = itemsOf(turn, index);
    return [
      { type: "response.created", response: responseOf(index, [], "in_progress") },
      ...items.flatMap((item, at) => eventsOf(item, at)),
      { type: "response.completed", response: responseOf(index, items, "completed") },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
  },
};

function creatorOf(version: 6 | 7): typeof createOpenAI {
  // The types of version 7 are those of another package.
  return version === 6 ? createOpenAI : (createOpenAI7 as unknown as typeof createOpenAI);
}

function responseOf(index: number, output: readonly Item[], status: string) {
  return {
    id: `resp_${index}`,
    object: "response",
    created_at: 1_700_000_000 + index,
    status,
    error: null,
    incomplete_details: null,
    model: "gpt-5-mini-2025-08-07",
    output,
    service_tier: "default",
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 29,
    },
  };
}

function itemsOf({ reasoning, hosted, text, calls = [] }: Turn, index: number): readonly Item[] {
  const items: (Item | undefined)[] = [
    reasoning === undefined
      ? undefined
      : {
          id: `rs_${index}`,
          type: "reasoning",
          encrypted_content: null,
          summary: [{ type: "summary_text", text: reasoning }],
        },
    hosted === undefined
      ? undefined
      : {
          id: `ws_${index}`,
          type: "web_search_call",
          status: "completed",
          action: { type: "search", query: hosted, sources: [{ type: "url", url: "https://example.org/7" }] },
        },
    text === undefined
      ? undefined
      : {
          id: `msg_${index}`,
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text, logprobs: [], annotations: annotationsOf(hosted) }],
        },
    ...calls.map(({ toolName, input }, at) => ({
      id: `fc_${index}_${at}`,
      type: "function_call",
      status: "completed",
      call_id: `call_${index}_${at}`,
      name: toolName,
      arguments: JSON.stringify(input),
    })),
  ];
  return items.filter((item) => item !== undefined);
}

function annotationsOf(hosted: string | undefined): readonly object[] {
  if (hosted === undefined) return [];
  return [{ type: "url_citation", start_index: 0, end_index: 3, url: "https://example.org/7", title: "Order 7" }];
}

function eventsOf(item: Item, output_index: number): readonly object[] {
  const about = { item_id: item.id, output_index };
  const added = { type: "response.output_item.added", output_index };
  const done = { type: "response.output_item.done", output_index, item };
  switch (item.type) {
    case "reasoning": {
      const [{ text }] = item["summary"] as [{ readonly text: string }];
      const part = { ...about, summary_index: 0 };
      return [
        { ...added, item: { ...item, summary: [] } },
        { type: "response.reasoning_summary_part.added", ...part, part: { type: "summary_text", text: "" } },
        ...piecesOf(text).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...part, delta })),
        { type: "response.reasoning_summary_text.done", ...part, text },
        { type: "response.reasoning_summary_part.done", ...part, part: { type: "summary_text", text } },
        done,
      ];
    }
    case "message": {
      const [{ text, annotations }] = item["content"] as [{ text: string; annotations: readonly object[] }];
      const part = { ...about, content_index: 0 };
      return [
        { ...added, item: { ...item, status: "in_progress", content: [] } },
        { type: "response.content_part.added", ...part, part: { type: "output_text", text: "", annotations: [] } },
        ...piecesOf(text).map((delta) => ({ type: "response.output_text.delta", ...part, delta, logprobs: [] })),
        ...annotations.map((annotation) => ({ type: "response.output_text.annotation.added", ...part, annotation })),
        { type: "response.output_text.done", ...part, text, logprobs: [] },
        done,
      ];
    }
    case "function_call": {
      const text = item["arguments"] as string;
      return [
        { ...added, item: { ...item, status: "in_progress", arguments: "" } },
        ...piecesOf(text).map((delta) => ({ type: "response.function_call_arguments.delta", ...about, delta })),
        { type: "response.function_call_arguments.done", ...about, arguments: text },
        done,
      ];
    }
    default:
      return [
        { ...added, item: { ...item, status: "in_progress" } },
        { type: "response.web_search_call.in_progress", ...about },
        { type: "response.web_search_call.completed", ...about },
        done,
      ];
  }
}
