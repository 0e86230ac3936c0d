import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Model } from "@openai/agents-core";
import { OpenAIChatCompletionsModel, OpenAIResponsesModel } from "@openai/agents-openai";
import OpenAI from "openai";
import type { Reply } from "../fakeModel.ts";
import { chatWire } from "./chatWire.ts";
import { responsesWire } from "./responsesWire.ts";
import type { Fields } from "./wire.ts";

export type Protocol = "responses" | "chat";

const wires = { responses: responsesWire, chat: chatWire };

/** An HTTP server on a free loopback port that answers as those of OpenAI do. It has no memory. */
export class OpenAIServer implements AsyncDisposable {
  readonly requests: Fields[] = [];
  readonly #reply: Reply;
  readonly #server: Server;

  private constructor(reply: Reply) {
    this.#reply = reply;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(reply: Reply): Promise<OpenAIServer> {
    const server = new OpenAIServer(reply);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  /** The SDK's own model, which asks this server. */
  model(protocol: Protocol): Model {
    const baseURL = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
    const client = new OpenAI({ apiKey: "unused", baseURL, maxRetries: 0 });
    return protocol === "chat"
      ? new OpenAIChatCompletionsModel(client, "gpt-5")
      : new OpenAIResponsesModel(client, "gpt-5");
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
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Fields;
    this.requests.push(body);
    const wire = request.url === chatWire.path ? wires.chat : wires.responses;
    const conversation = wire.items(body);
    const reply = this.#reply(conversation, body as never);
    response.setHeader("x-request-id", `req_${conversation.length}`);
    if (reply instanceof Error) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ error: { message: reply.message, type: "server_error", code: null, param: null } }),
      );
      return;
    }
    const id = `resp_${conversation.length}`;
    if (body["stream"] !== true) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(wire.answer(reply, id)));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of wire.events(reply, id)) {
      if (wire === responsesWire) response.write(`event: ${String(event["type"])}\n`);
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    }
    response.end(wire === chatWire ? "data: [DONE]\n\n" : "");
  }
}
