import type { AgentInputItem, AgentOutputItem } from "@openai/agents-core";
import { type Fields, piecesOf, resultItem, textOf, type Wire } from "./wire.ts";

/** The Responses API. */
export const responsesWire: Wire = {
  path: "/v1/responses",
  items: ({ input }) =>
    typeof input === "string" ? [{ role: "user", content: input }] : (input as Fields[]).map(itemOf),
  answer: (items, id) => ({ ...frameOf(id), status: "completed", output: items.map(outputOf), usage }),
  events: (items, id) => {
    const frame = { ...frameOf(id), status: "in_progress", output: [], usage: null };
    const done = { type: "response.completed", response: responsesWire.answer(items, id) };
    const events = [
      { type: "response.created", response: frame },
      { type: "response.in_progress", response: frame },
      ...items.flatMap(itemEvents),
      done,
    ];
    return events.map((event, index) => ({ ...event, sequence_number: index }));
  },
};

const usage = {
  input_tokens: 36,
  input_tokens_details: { cached_tokens: 12 },
  output_tokens: 87,
  output_tokens_details: { reasoning_tokens: 64 },
  total_tokens: 123,
};

function frameOf(id: string): Fields {
  return {
    id,
    object: "response",
    created_at: 1_741_476_542,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: "gpt-5-2025-08-07",
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: "medium", summary: "auto" },
    store: true,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    user: null,
    metadata: {},
  };
}

function itemOf(item: Fields): AgentInputItem {
  if (item["type"] === "function_call_output") return resultItem(item["call_id"], item["output"]);
  return (item["role"] ? item : { type: "unknown", providerData: item }) as AgentInputItem;
}

function outputOf(item: AgentOutputItem, index: number): Fields {
  const text = textOf(item);
  if (text !== undefined) {
    const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
    return { id: `msg_${index}`, type: "message", status: "completed", role: "assistant", content };
  }
  if (item.type === "function_call") {
    const { callId: call_id, name, arguments: written } = item;
    return { id: `fc_${call_id}`, type: "function_call", status: "completed", arguments: written, call_id, name };
  }
  if (item.type !== "reasoning") return item.providerData as Fields;
  const summary = item.content.map((part) => ({ type: "summary_text", text: part.text }));
  return { id: `rs_${index}`, type: "reasoning", encrypted_content: "gAAAAABo", summary };
}

function itemEvents(item: AgentOutputItem, output_index: number): Fields[] {
  const whole = outputOf(item, output_index);
  const place = { item_id: whole["id"], output_index };
  const text = textOf(item);
  const added = { type: "response.output_item.added", output_index, item: { ...whole, status: "in_progress" } };
  const done = { type: "response.output_item.done", output_index, item: whole };
  if (item.type === "function_call") {
    const pieces = piecesOf(item.arguments).map((delta) => ({
      type: "response.function_call_arguments.delta",
      ...place,
      delta,
    }));
    return [
      added,
      ...pieces,
      { type: "response.function_call_arguments.done", ...place, arguments: item.arguments },
      done,
    ];
  }
  if (text === undefined) return [added, done];
  const part = { ...place, content_index: 0 };
  const deltas = piecesOf(text).map((delta) => ({ type: "response.output_text.delta", ...part, delta, logprobs: [] }));
  return [added, ...deltas, { type: "response.output_text.done", ...part, text, logprobs: [] }, done];
}
