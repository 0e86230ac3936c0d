import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Turn, Wire, WireBody } from "./wire/Wire.ts";

/** A provider on a loopback port. Its response follows from how many results the request has, as with a real model. */
export class ProviderServer implements AsyncDisposable {
  /** The bodies of all requests, in order. */
  readonly requests: WireBody[] = [];
  readonly #wire: Wire;
  readonly #turns: readonly Turn[];
  readonly #server: Server;
  /** Called with the number of a streamed response when half of it is sent. */
  onHalf: (index: number) => void = () => undefined;

  private constructor(wire: Wire, turns: readonly Turn[]) {
    this.#wire = wire;
    this.#turns = turns;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(wire: Wire, turns: readonly Turn[]): Promise<ProviderServer> {
    const server = new ProviderServer(wire, turns);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await json(request)) as WireBody;
    this.requests.push(body);
    const index = this.#turnAfter(this.#wire.resultsIn(body));
    const turn = this.#turns[index];
    if (!turn) throw new Error(`there is no response ${index}`);
    if (!this.#wire.isStreamed(request.url ?? "", body)) {
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify(this.#wire.whole(turn, index)));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = this.#wire.events(turn, index);
    for (const [at, event] of events.entries()) {
      if (at === Math.floor(events.length / 2)) this.onHalf(index);
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  }

  /** The number of the response that follows this many results. */
  #turnAfter(results: number): number {
    let given = 0;
    return this.#turns.findIndex(({ calls = [] }) => {
      if (given === results) return true;
      given += calls.length;
      return false;
    });
  }
}
