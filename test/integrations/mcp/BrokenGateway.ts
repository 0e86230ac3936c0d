import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly protocolVersion: string };
}

/** An MCP server behind a gateway: a call of its tool `charge` has its effect, but the gateway answers with a page. */
export class BrokenGateway implements AsyncDisposable {
  effects = 0;
  readonly #status: number;
  readonly #server: Server = createServer((request, response) => {
    if (request.method === "POST") void json(request).then((message) => this.#answer(message as Message, response));
    else response.writeHead(405).end();
  });

  private constructor(status: number) {
    this.#status = status;
  }

  static async start(status: number): Promise<BrokenGateway> {
    const gateway = new BrokenGateway(status);
    await new Promise<void>((resolve) => gateway.#server.listen(0, "127.0.0.1", resolve));
    return gateway;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer({ id, method, params }: Message, response: ServerResponse): void {
    const result = (value: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }));
    };
    if (method === "initialize")
      return result({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "server", version: "1" },
      });
    if (method === "tools/list") return result({ tools: [{ name: "charge", inputSchema: { type: "object" } }] });
    if (method !== "tools/call") return void response.writeHead(202).end();
    this.effects++;
    response.writeHead(this.#status, { "content-type": "text/html" }).end("<h1>Gateway</h1>");
  }
}
