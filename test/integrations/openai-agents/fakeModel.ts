import {
  type AgentInputItem,
  type AgentOutputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  Usage,
} from "@openai/agents-core";

/** What a model says to a conversation: items, or an error that it throws. */
export type Reply = (items: readonly AgentInputItem[], request: ModelRequest) => readonly AgentOutputItem[] | Error;

/** A model without memory: a repeated process gets the same answer to the same conversation. */
export class FakeModel implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #reply: Reply;

  constructor(reply: Reply) {
    this.#reply = reply;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const { retry: _policy, ...modelSettings } = request.modelSettings;
    this.requests.push(
      structuredClone({ ...request, modelSettings, signal: undefined, _internal: undefined } as never) as ModelRequest,
    );
    const { input } = request;
    const items = typeof input === "string" ? [{ role: "user", content: input } as const] : input;
    const reply = this.#reply(items, request);
    if (reply instanceof Error) throw reply;
    const usage = new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 });
    return { output: [...reply], usage, responseId: `response-${items.length}` };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { output, responseId = "", usage } = await this.getResponse(request);
    yield { type: "response_started" };
    for (const item of output) {
      for (const piece of textOf(item).match(/.{1,3}/g) ?? []) yield { type: "output_text_delta", delta: piece };
    }
    const { inputTokens, outputTokens, totalTokens, requests } = usage;
    const counts = { inputTokens, outputTokens, totalTokens, requests };
    yield { type: "response_done", response: { id: responseId, usage: counts, output: output as never } };
  }
}

export function says(text: string): AgentOutputItem {
  return { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
}

export function calls(name: string, input: unknown, callId = "call_1"): AgentOutputItem {
  return { type: "function_call", callId, name, status: "completed", arguments: JSON.stringify(input) };
}

/** The results of tools in a conversation, as text. */
export function resultsIn(items: readonly AgentInputItem[]): string[] {
  return items.flatMap((item) => {
    if (item.type !== "function_call_result") return [];
    const { output } = item;
    return [typeof output === "object" && "text" in output ? output.text : JSON.stringify(output)];
  });
}

function textOf(item: AgentOutputItem): string {
  if (!("role" in item) || item.role !== "assistant") return "";
  return item.content.map((part) => (part.type === "output_text" ? part.text : "")).join("");
}
