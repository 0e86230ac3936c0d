import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { pipeAgentUIStreamToResponse, type UIMessage } from "ai";
import type { openDesk } from "./desk.ts";

interface ChatServerOptions {
  /** The script of the page. */
  readonly script: () => Promise<string>;
  readonly onAttach?: (() => void) | undefined;
}

/**
 * Handles the requests of `useChat`: `POST /api/chat` for a message, `GET /api/chat/<id>/stream` for a client that comes
 * back, and `POST /api/chat/<id>/stop` for the stop button. The page is at `/`.
 */
export function chatServer(desk: ReturnType<typeof openDesk>, { script, onAttach }: ChatServerOptions): Server {
  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, messages } = (await json(request)) as { id: string; messages: UIMessage[] };
    // A second message during an answer is answered after it.
    const agent = desk.for(id, { unfinished: "finish_first", whenBusy: "queue" });
    return pipeAgentUIStreamToResponse({ response, agent, uiMessages: messages });
  }

  async function attach(id: string, response: ServerResponse): Promise<void> {
    const stream = await desk.for(id).attach();
    if (!stream) return void response.writeHead(204).end();
    onAttach?.();
    return stream.pipeUIMessageStreamToResponse(response);
  }

  /** Stops the run, whichever server it runs on. */
  async function stop(id: string, response: ServerResponse): Promise<void> {
    const { status } = await desk.agent(id).stop({ reason: "The user pressed stop." });
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ status }));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "" } = request;
    if (url === "/") return send(response, "text/html", page);
    if (url === "/page.js") return send(response, "text/javascript", await script());
    if (method === "POST" && url === "/api/chat") return post(request, response);
    const [, id = "", what] = /^\/api\/chat\/([^/]+)\/(stream|stop)$/.exec(url) ?? [];
    if (method === "GET" && what === "stream") return attach(decodeURIComponent(id), response);
    if (method === "POST" && what === "stop") return stop(decodeURIComponent(id), response);
    response.writeHead(404).end();
  }

  return createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
}

const page = `<!doctype html><title>Chat</title><body><script type="module" src="/page.js"></script></body>`;

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { "content-type": `${type}; charset=utf-8` }).end(body);
}
