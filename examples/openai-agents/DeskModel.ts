import {
  type AgentInputItem,
  type AgentOutputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  Usage,
} from "@openai/agents-core";

/** A model without a key and without a network: it looks the order up, refunds it, and says what came of it. */
export class DeskModel implements Model {
  readonly #asked: () => void;

  /** @param asked is called for each request: each would cost money. */
  constructor(asked: () => void) {
    this.#asked = asked;
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.#asked();
    const results = (typeof input === "string" ? [] : input).flatMap(resultOf);
    return { output: [answerTo(results)], usage: new Usage({ requests: 1 }) };
  }

  // oxlint-disable-next-line require-yield -- this example streams nothing
  async *getStreamedResponse(): AsyncIterable<StreamEvent> {
    throw new Error("This model does not stream.");
  }
}

function answerTo(results: readonly string[]): AgentOutputItem {
  if (results.length === 0) return call("look_up", { order: "order 7" });
  if (results.length === 1) return call("refund", { order: "order 7", euros: 25 });
  const text = results.at(-1) ?? "";
  return { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
}

function call(name: string, input: unknown): AgentOutputItem {
  return { type: "function_call", callId: `call_${name}`, name, arguments: JSON.stringify(input), status: "completed" };
}

function resultOf(item: AgentInputItem): string[] {
  if (item.type !== "function_call_result") return [];
  const { output } = item;
  return [typeof output === "object" && "text" in output ? output.text : JSON.stringify(output)];
}
