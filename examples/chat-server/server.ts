import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { pipeAgentUIStreamToResponse, type UIMessage } from "ai";
import { openDesk } from "./desk.ts";

/**
 * A chat server: `server.ts <directory> [kill]`. It prints its port. With `kill`, the process is killed when the money has been
 * paid, before the tool returns.
 */
const [, , directory = ".agent-persistence", how = ""] = process.argv;
const afterRefund = how === "kill" ? () => process.kill(process.pid, "SIGKILL") : () => {};
// A real model would be slow enough for a client to come back in time.
let clientIsBack = () => {};
const patience = new Promise<void>((resolve) => (clientIsBack = resolve));
const desk = openDesk(directory, { afterRefund, patience });

/** What the client of the AI SDK asks for: `POST /api/chat`, and `GET /api/chat/<id>/stream` when it comes back. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = "" } = request;
  if (method === "POST" && url === "/api/chat") {
    const { id, messages } = (await json(request)) as { id: string; messages: UIMessage[] };
    // A second message during an answer is answered after it.
    const agent = desk.for(id, { unfinished: "finish_first", whenBusy: "queue" });
    return pipeAgentUIStreamToResponse({ response, agent, uiMessages: messages });
  }
  const [, id] = /^\/api\/chat\/([^/]+)\/stream$/.exec(url) ?? [];
  const stream = id === undefined ? undefined : await desk.for(decodeURIComponent(id)).attach();
  if (!stream) return void response.writeHead(204).end();
  clientIsBack();
  return stream.pipeUIMessageStreamToResponse(response);
}

// Continues what the last process has left, also if no client comes back for it.
for await (const { agentId } of desk.unfinished()) await desk.for(agentId).resumeStream().catch(console.error);

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    response.writeHead(500).end();
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
