import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { AgentInspector } from "../inspect/AgentInspector.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { timelineOptionShape, type TimelineOptions, redactionOf } from "./options/TimelineOptions.ts";
import { randomBytes, timingSafeEqual, createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { InvalidAgentIdError, InvalidInputError } from "../errors/agentErrors.ts";
import { TimelineReader } from "./data/TimelineReader.ts";
import { pageAssets, contentSecurityPolicy, inertJson, pageHtml, valueHtml } from "./timelinePage.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { TimelineItem, TimelineNews } from "./data/TimelineData.ts";

export interface ServeTimelineOptions extends TimelineOptions {
  /** The port on the loopback interface. Defaults to 0, which selects a free port. */
  readonly port?: number | undefined;
  /** The polling interval for updates in milliseconds. Defaults to 500. */
  readonly everyMs?: number | undefined;
}

export interface TimelineServer {
  /** The URL of the list of agents. It contains the token that every request needs. */
  readonly url: string;
  urlOf(agentId: string): string;
  close(): Promise<void>;
}

const schema = strictOptions(() => ({
  ...timelineOptionShape,
  port: z.int().min(0).max(65_535).optional(),
  everyMs: z.int().positive().optional(),
}));

/**
 * Serves the timelines of all agents of a storage to browsers on this machine and pushes updates to open pages. Listens
 * only on 127.0.0.1 and requires a random token in each URL, so that other machines and other web pages cannot read the
 * timelines.
 *
 * @example
 * ```ts
 * const server = await serveTimeline(inspector, { port: 8080 });
 * console.log(server.url);
 * await server.close();
 * ```
 *
 * @throws InvalidInputError for an invalid option
 * @throws an Error of Node, such as `EADDRINUSE`, if the server cannot listen
 */
export async function serveTimeline(
  inspector: AgentInspector,
  options: ServeTimelineOptions = {},
): Promise<TimelineServer> {
  const checked = checkSchema(schema, options, "options of a timeline server") as ServeTimelineOptions;
  const { port = 0, everyMs = 500, ...shown } = checked;
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const requests = new TimelineRequests(inspector, shown, (server.address() as AddressInfo).port, everyMs);
  server.on("request", (request, response) => void requests.answer(request, response));
  return {
    url: requests.url,
    urlOf: (agentId) => requests.urlOf(agentId),
    close: async () => {
      requests.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The maximum number of listed agents, because browsers render longer lists slowly. */
const mostListed = 1_000;

/** Handles requests for the list of agents, their pages and their updates. */
class TimelineRequests {
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
    // The prefix protects the ids "." and "..", which browsers would resolve as path segments.
    return `${this.url}agents/${beforeId}${encodeURIComponent(agentId)}`;
  }

  close(): void {
    this.#closing.abort();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else if (noSuchAgent.some((kind) => error instanceof kind)) refuse(response, 404, "Not found");
      else refuse(response, 500, String(error));
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The request target may also be "*" or a whole URL. Both are rejected.
    const [path = ""] = (request.url ?? "").split("?", 1);
    const [before, token = "", ...parts] = path.split("/");
    if (before !== "" || !this.#isAllowed(request, token)) return refuse(response, 404, "Not found");
    if (request.method !== "GET") return refuse(response, 405, "Only GET is answered");
    if (parts.length <= 1 && (parts[0] ?? "") === "") return this.#sendList(response);
    const asked = askedOf(parts);
    if (asked === undefined) return refuse(response, 404, "Not found");
    await (asked.news ? this.#sendNews(asked.agentId, response) : this.#sendPage(asked.agentId, response));
  }

  /** Checks the token and the host. Foreign hosts are rejected, which prevents DNS rebinding. */
  #isAllowed({ headers }: IncomingMessage, token: string): boolean {
    const hosts = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`];
    return hosts.includes(headers.host ?? "") && isSame(token, this.#token);
  }

  async #sendList(response: ServerResponse): Promise<void> {
    const agents = [];
    const texts = redactionOf(this.#options);
    const listed = this.#inspector.agents({ limit: mostListed + 1, explain: true });
    for await (const { agentId, shape, status, updatedAt = "", reason = "" } of listed) {
      const shown = shape === "agent" ? status : shape;
      agents.push({ id: agentId, status: shown, at: updatedAt, reason: texts.text(reason), url: this.urlOf(agentId) });
    }
    const assets = await pageAssets();
    const list = { agents: agents.slice(0, mostListed), hasMore: agents.length > mostListed };
    await send(response, contentSecurityPolicy(assets), valueHtml(assets, "Agents", list));
  }

  async #sendPage(agentId: string, response: ServerResponse): Promise<void> {
    const reader = this.#reader(agentId);
    await reader.view();
    const { pathname } = new URL(this.urlOf(agentId));
    const parts = { ...(await pageAssets()), events: `${pathname}/events` };
    const items = { items: reader.items(), agent: () => reader.agent(), title: `${agentId} · timeline` };
    await send(response, contentSecurityPolicy(parts), pageHtml({ ...parts, ...items }));
  }

  async #sendNews(agentId: string, response: ServerResponse): Promise<void> {
    await this.#reader(agentId).view();
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#closing.signal]);
    response.writeHead(200, { ...safeHeaders, "content-type": "text/event-stream" });
    response.flushHeaders();
    await pipeline(this.#newsOf(agentId, signal), response);
  }

  /**
   * Yields updates as server-sent events until the browser disconnects or the agent is deleted. After new records,
   * waits several times as long as a read takes, because reading a long log is expensive.
   */
  async *#newsOf(agentId: string, signal: AbortSignal): AsyncGenerator<string, void> {
    let seen: string | undefined;
    let sent: readonly string[] = [];
    while (!signal.aborted) {
      const began = performance.now();
      const now = await stateOf(this.#inspector, agentId);
      if (now === undefined) {
        if (!signal.aborted) yield "event: gone\ndata: {}\n\n";
        return;
      }
      if (now !== seen) {
        const { news, digests } = await newsSince(sent, this.#reader(agentId));
        sent = digests;
        yield `data: ${inertJson(news)}\n\n`;
      }
      seen = now;
      const rest = Math.max(this.#everyMs, 4 * (performance.now() - began));
      await sleep(rest, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  #reader(agentId: string): TimelineReader {
    return new TimelineReader(this.#inspector, agentId, this.#options);
  }
}

const noSuchAgent = [InvalidInputError, InvalidAgentIdError];
const beforeId = "id=";

/** Parses the path after the token. `undefined` if the path is unknown. */
function askedOf(parts: readonly string[]): { readonly agentId: string; readonly news: boolean } | undefined {
  const [kind, id = "", ...more] = parts;
  const news = more.length === 1 && more[0] === "events";
  if (kind !== "agents" || !id.startsWith(beforeId) || (more.length > 0 && !news)) return undefined;
  try {
    return { agentId: decodeURIComponent(id.slice(beforeId.length)), news };
  } catch {
    return undefined;
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
  await pipeline(pieces, response);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { ...safeHeaders, "content-type": "text/plain; charset=utf-8" });
  response.end(text);
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Returns an update from the first changed item on. @param sent The digests of the items on the open page. */
async function newsSince(
  sent: readonly string[],
  reader: TimelineReader,
): Promise<{ readonly news: TimelineNews; readonly digests: readonly string[] }> {
  const digests: string[] = [];
  const items: TimelineItem[] = [];
  let from: number | undefined;
  for await (const item of reader.items()) {
    const digest = createHash("sha256").update(JSON.stringify(item)).digest("base64");
    if (from === undefined && digest !== sent[digests.length]) from = digests.length;
    if (from !== undefined) items.push(item);
    digests.push(digest);
  }
  return { news: { agent: await reader.agent(), from: from ?? digests.length, items }, digests };
}

/** Returns a text that changes with the agent. `undefined` if the agent was deleted. */
async function stateOf(inspector: Pick<AgentInspector, "agent">, agentId: string): Promise<string | undefined> {
  const view = await inspector.agent(agentId);
  if (view === undefined) return undefined;
  return JSON.stringify([view.position, view.status, view.owner?.state, view.owner?.generation]);
}
