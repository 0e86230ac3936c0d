import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * What a network does: `drop` keeps an answer and breaks the connection, `half_close` keeps it and only ends the side of the
 * client, `silence` keeps all answers of a connection that looks alive, `delay` passes an answer late, and `cut` breaks the
 * connection before a request has passed.
 */
export type ProxyFault = "drop" | "half_close" | "silence" | "delay" | "cut";

const delayMs = 20;

/** Stands between a client and a server, and can keep the next answer for itself and break the connection. */
export class SwallowingProxy {
  swallowsNext = false;
  /** Keeps the next answer too, but not the connection from looking alive. */
  silencesNext = false;
  /** Chosen for each request, of which only `cut` counts, and for each answer. */
  fault: (side: "request" | "answer") => ProxyFault | undefined = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor({ hostname, port }: URL) {
    this.#server = createServer((client) => {
      const server = connect(Number(port), hostname);
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => this.#sockets.delete(socket));
      }
      client.on("close", () => server.destroy());
      server.on("close", () => client.destroy());
      client.on("data", (chunk) => {
        if (this.fault("request") === "cut") client.destroy();
        else server.write(chunk);
      });
      const ignore = () => server.removeAllListeners("data").resume();
      server.on("data", (chunk) => {
        if (this.silencesNext) {
          this.silencesNext = false;
          ignore();
          return;
        }
        const fault = this.swallowsNext ? "drop" : this.fault("answer");
        this.swallowsNext = false;
        if (fault === "drop") client.destroy();
        else if (fault === "silence") ignore();
        else if (fault === "half_close") {
          ignore();
          client.end();
        } else if (fault === "delay") setTimeout(() => client.write(chunk), delayMs);
        else client.write(chunk);
      });
    });
  }

  static async before(url: string): Promise<{ readonly proxy: SwallowingProxy; readonly url: string }> {
    const target = new URL(url);
    const proxy = new SwallowingProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    target.port = String((proxy.#server.address() as AddressInfo).port);
    target.hostname = "127.0.0.1";
    return { proxy, url: target.href };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
