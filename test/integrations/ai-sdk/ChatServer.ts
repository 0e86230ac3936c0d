import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request of the OpenAI chat protocol, as it came over the wire. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly [parameter: string]: unknown;
}

export interface WireMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly WireToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
}

export interface WireToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

type Responder = (response: ServerResponse, request: ChatRequest) => void;

/** A real HTTP server on a free loopback port that answers `/chat/completions` with what was queued. */
export class ChatServer implements AsyncDisposable {
  readonly requests: ChatRequest[] = [];
  readonly #responders: Responder[] = [];
  readonly #server: Server;
  #otherwise: Responder = status(500, "no answer was queued");

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<ChatServer> {
    const chat = new ChatServer();
    chat.#server.listen(0, "127.0.0.1");
    await once(chat.#server, "listening");
    return chat;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Queues one answer. */
  next(respond: Responder): this {
    this.#responders.push(respond);
    return this;
  }

  /** Answers every request for which nothing is queued. */
  otherwise(respond: Responder): this {
    this.#otherwise = respond;
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ChatRequest;
    this.requests.push(body);
    const respond = this.#responders.shift() ?? this.#otherwise;
    respond(response, body);
  }
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Responder {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

export function status(code: number, message: string, headers?: Readonly<Record<string, string>>): Responder {
  return json(code, { error: { message, type: "error", code: null } }, headers);
}

/** A chat completion with that assistant message. */
export function completion(message: Readonly<Record<string, unknown>>, finishReason = "stop"): Responder {
  return json(200, {
    id: "completion-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "served",
    choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: finishReason }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  });
}

export function text(content: string): Responder {
  return completion({ content });
}

/** Calls as `[provider's id, tool, arguments]`; arguments that are text go out as they are. */
export function toolCalls(...calls: readonly (readonly [id: string, name: string, args: unknown])[]): Responder {
  const wire = calls.map(([id, name, args]) => {
    const written = typeof args === "string" ? args : JSON.stringify(args);
    return { id, type: "function", function: { name, arguments: written } };
  });
  return completion({ tool_calls: wire }, "tool_calls");
}
