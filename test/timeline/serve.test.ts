import { request } from "node:http";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { serveTimeline, type TimelineServer } from "agent-persistence/timeline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TimelineNews } from "../../src/timeline/data/TimelineData.ts";
import * as pictured from "./picturedAgents.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** `fetch` does not let a caller say another host. */
function get(url: string, host?: string, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: host === undefined ? {} : { host } }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on("error", reject).end();
  });
}

/** The news of a page, one after the other. */
async function* newsFrom(url: string, signal: AbortSignal): AsyncGenerator<TimelineNews> {
  const response = await fetch(`${url}/events`, { signal });
  let text = "";
  for await (const piece of response.body ?? []) {
    text += new TextDecoder().decode(piece);
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      yield JSON.parse(text.slice("data: ".length, end)) as TimelineNews;
      text = text.slice(end + 2);
    }
  }
}

const storage = new InMemoryPersistenceStorageProvider();
let server: TimelineServer;
beforeEach(async () => {
  server = await serveTimeline(inspect(storage), { everyMs: 1 });
});
afterEach(() => server.close());

describe("a served timeline", () => {
  it("lists agents and serves the page of each, behind its token", async () => {
    await pictured.parallelCalls(storage, "team/7");
    const list = await get(server.url);
    expect(list.status).toBe(200);
    expect(list.body).toContain("team/7");
    const { status, headers, body } = await get(server.urlOf("team/7"));
    expect(status).toBe(200);
    expect(body).toContain("Sign up three people.");
    expect(headers["content-security-policy"]).toMatch(
      /default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/,
    );
    expect(headers["cache-control"]).toBe("no-store");
  });

  it("answers nobody without the token, under another name, or with another method", async () => {
    const { origin, host, port } = new URL(server.url);
    expect(new URL(server.url).hostname).toBe("127.0.0.1");
    expect((await get(`${origin}/`)).status).toBe(404);
    expect((await get(`${origin}/${"x".repeat(32)}/`)).status).toBe(404);
    expect((await get(server.url, `evil.example:${port}`)).status).toBe(404);
    expect((await get(server.url, host, "POST")).status).toBe(405);
    expect((await get(server.urlOf("nobody"))).status).toBe(404);
    expect((await get(`${server.urlOf("team/7")}/other`)).status).toBe(404);
  });

  it("tells an open page what is new, and nothing twice", async () => {
    await pictured.wait(storage, "live");
    const stop = new AbortController();
    const news = newsFrom(server.urlOf("live"), stop.signal);
    const first = (await news.next()).value as TimelineNews;
    expect(first).toMatchObject({ from: 0, agent: { id: "live", status: "waiting" } });
    await pictured.parallelCalls(storage, "another");
    await pictured.answerWait(storage, "live");
    let last = (await news.next()).value as TimelineNews;
    expect(last.from).toBeGreaterThan(0);
    while (last.agent.status !== "completed") last = (await news.next()).value as TimelineNews;
    expect(last.items.at(-1)).toMatchObject({ kind: "step", ended: "completed" });
    stop.abort();
  });

  it("options that it does not know, and paths that are none, are refused before it listens", async () => {
    await expect(serveTimeline(inspect(storage), { redact: ["a..b"] })).rejects.toThrow(/keys with dots between them/);
    await expect(serveTimeline(inspect(storage), { port: -1 })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(serveTimeline(inspect(storage), { prot: 1 } as object)).rejects.toThrow(/did you mean "port"/);
  });
});
