import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { chatServer } from "../../../../examples/chat-server/chatServer.ts";
import { openDesk } from "../../../../examples/chat-server/desk.ts";

export interface ChatWorkerOptions {
  readonly directory: string;
  readonly script: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** A process with the server of the example. Its model pauses in its last response until the process gets a message. */
const { directory, script, port } = JSON.parse(process.argv[2] ?? "{}") as ChatWorkerOptions;
const patience = new Promise<void>((resolve) => process.once("message", () => resolve()));
// The server of the example continues interrupted runs when it starts. Here, the page alone makes it do so.
const desk = openDesk(directory, { afterRefund: () => {}, patience });
const server = chatServer(desk, { script: () => readFile(script, "utf8") });
server.listen(port, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
