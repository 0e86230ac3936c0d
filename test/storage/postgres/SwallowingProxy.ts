import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Stands between a client and a server, and can keep the next answer for itself and break the connection. */
export class SwallowingProxy {
  swallowsNext = false;
  /** Keeps the next answer too, but not the connection from looking alive. */
  silencesNext = false;
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
      client.on("data", (chunk) => server.write(chunk));
      server.on("data", (chunk) => {
        if (this.silencesNext) {
          this.silencesNext = false;
          server.removeAllListeners("data").resume();
          return;
        }
        if (!this.swallowsNext) return void client.write(chunk);
        this.swallowsNext = false;
        client.destroy();
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
