import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { InvalidInputError } from "../../errors/agent/InvalidInputError.ts";
import type { AgentInspector } from "../../inspect/AgentInspector.ts";
import { TimelineReader } from "../data/TimelineReader.ts";
import { pageAssets } from "../html/pageAssets.ts";
import { contentSecurityPolicy, listHtml, pageHtml } from "../html/pageHtml.ts";
import type { TimelineOptions } from "../options/TimelineOptions.ts";
import { TimelineNewsFeed } from "./TimelineNewsFeed.ts";

/** Agents in the list at most: a browser shows no more in time. */
const mostListed = 1_000;

/** Answers browsers: the list of agents, the page of each, and its news. */
export class TimelineRequests {
  readonly #inspector: AgentInspector;
  readonly #options: TimelineOptions;
  readonly #port: number;
  readonly #everyMs: number;
  readonly #token = randomBytes(24).toString("base64url");
  readonly #closing = new AbortController();

  constructor(inspector: AgentInspector, options: TimelineOptions, port: number, everyMs: number) {
    this.#inspector = inspector;
    this.#options = options;
    this.#port = port;
    this.#everyMs = everyMs;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/${this.#token}/`;
  }

  urlOf(agentId: string): string {
    return `${this.url}agents/${encodeURIComponent(agentId)}`;
  }

  close(): void {
    this.#closing.abort();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else refuse(response, error instanceof InvalidInputError ? 404 : 500, String(error));
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, token = "", kind = "", agent = "", part] = new URL(request.url ?? "/", this.url).pathname.split("/");
    if (!this.#isAllowed(request, token)) return refuse(response, 404, "Not found");
    if (request.method !== "GET") return refuse(response, 405, "Only GET is answered");
    if (kind === "") return this.#sendList(response);
    const agentId = decodeURIComponent(agent);
    if (kind !== "agents" || agentId === "") return refuse(response, 404, "Not found");
    if (part === "events") return this.#sendNews(agentId, response);
    return part === undefined ? this.#sendPage(agentId, response) : refuse(response, 404, "Not found");
  }

  /** A page elsewhere that makes a name of its own lead here says that name as the host. */
  #isAllowed({ headers }: IncomingMessage, token: string): boolean {
    const hosts = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`];
    return hosts.includes(headers.host ?? "") && isSame(token, this.#token);
  }

  async #sendList(response: ServerResponse): Promise<void> {
    const agents = [];
    for await (const { agentId, status, updatedAt, reason } of this.#inspector.agents({ limit: mostListed })) {
      agents.push({ id: agentId, status, at: updatedAt ?? "", reason: reason ?? "", url: this.urlOf(agentId) });
    }
    const assets = await pageAssets();
    await send(response, contentSecurityPolicy(assets), listHtml(assets, agents));
  }

  async #sendPage(agentId: string, response: ServerResponse): Promise<void> {
    const reader = new TimelineReader(this.#inspector, agentId, this.#options);
    await reader.view();
    const parts = { ...(await pageAssets()), events: `${this.urlOf(agentId)}/events` };
    const items = { items: reader.items(), agent: () => reader.agent(), title: `${agentId} · timeline` };
    await send(response, contentSecurityPolicy(parts), pageHtml({ ...parts, ...items }));
  }

  async #sendNews(agentId: string, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#closing.signal]);
    response.writeHead(200, { ...safeHeaders, "content-type": "text/event-stream" });
    response.flushHeaders();
    const feed = new TimelineNewsFeed(() => new TimelineReader(this.#inspector, agentId, this.#options));
    for await (const news of feed.follow(this.#inspector, agentId, this.#everyMs, signal)) {
      await write(response, `data: ${JSON.stringify(news)}\n\n`);
    }
    response.end();
  }
}

const safeHeaders = {
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

async function send(response: ServerResponse, policy: string, pieces: AsyncIterable<string>): Promise<void> {
  const headers = { ...safeHeaders, "content-type": "text/html; charset=utf-8" };
  response.writeHead(200, { ...headers, "content-security-policy": `${policy}; frame-ancestors 'none'` });
  for await (const piece of pieces) await write(response, piece);
  response.end();
}

/** Waits where the browser is slower. One that is gone ends the answer. */
async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed) throw new Error("The browser is gone");
  if (!response.write(text)) await Promise.race([once(response, "drain"), once(response, "close")]);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { ...safeHeaders, "content-type": "text/plain; charset=utf-8" });
  response.end(text);
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
