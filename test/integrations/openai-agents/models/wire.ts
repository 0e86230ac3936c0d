import type { AgentInputItem, AgentOutputItem } from "@openai/agents-core";

/** How OpenAI's servers answer: whole, and as the events of a stream. */
export interface Wire {
  readonly path: string;
  /** The conversation in a request. */
  items(body: Fields): readonly AgentInputItem[];
  answer(items: readonly AgentOutputItem[], id: string): Fields;
  events(items: readonly AgentOutputItem[], id: string): readonly Fields[];
}

export type Fields = Readonly<Record<string, unknown>>;

/** A result of a tool, as text. */
export function resultItem(callId: unknown, output: unknown): AgentInputItem {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return {
    type: "function_call_result",
    callId: String(callId),
    name: "",
    status: "completed",
    output: { type: "text", text },
  };
}

/** A text in pieces, as a stream sends it. */
export function piecesOf(text: string): readonly string[] {
  return text.match(/.{1,5}/gs) ?? [];
}

/** The text of a message; `undefined` for an item of another kind. */
export function textOf(item: AgentOutputItem): string | undefined {
  if (!("role" in item) || item.role !== "assistant") return undefined;
  return item.content.map((part) => (part.type === "output_text" ? part.text : "")).join("");
}
