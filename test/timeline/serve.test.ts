import { request } from "node:http";
import { connect } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { PersistenceSession } from "agent-persistence/openai-agents";
import type { ScriptedTurn } from "agent-persistence/testing";
import { serveTimeline, type TimelineServer } from "agent-persistence/timeline";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TimelineData, TimelineItem, TimelineNews } from "../../src/timeline/data/TimelineData.ts";
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

/** The first line of the answer to a target that is sent as it is. */
function rawStatus(port: number, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
    });
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    socket.on("end", () => resolve(text.split("\r\n")[0] ?? "")).on("error", reject);
  });
}

/** The news of a page, one after the other. */
async function* newsFrom(url: string, signal: AbortSignal): AsyncGenerator<TimelineNews> {
  const response = await fetch(`${url}/events`, { signal });
  let text = "";
  for await (const piece of response.body ?? []) {
    text += new TextDecoder().decode(piece);
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      if (text.startsWith("event: gone\n")) return;
      yield JSON.parse(text.slice("data: ".length, end)) as TimelineNews;
      text = text.slice(end + 2);
    }
  }
}

/** The data of a page. */
function dataOf<Data>(html: string): Data {
  const [, data = ""] = /id="timeline-data">(.*?)<\/script>/s.exec(html) ?? [];
  return JSON.parse(data) as Data;
}

/** The items of a page. */
function itemsOf(html: string): readonly TimelineItem[] {
  return dataOf<TimelineData>(html).items;
}

const storage = new InMemoryPersistenceStorageProvider();
let server: TimelineServer;
beforeEach(async () => {
  server = await serveTimeline(inspect(storage), { everyMs: 1 });
});
afterEach(() => server.close());

describe("a served timeline", () => {
  it("lists agents and serves the page of each, with its token", async () => {
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

  it("requests updates from the host name in the address of the page", async () => {
    await pictured.parallelCalls(storage, "team/7");
    const { port, pathname } = new URL(server.urlOf("team/7"));
    const { status, body } = await get(server.urlOf("team/7"), `localhost:${port}`);
    expect(status).toBe(200);
    expect(/data-events="([^"]*)"/.exec(body)?.[1]).toBe(`${pathname}/events`);
  });

  it("refuses requests without the token, under another host name or with another method", async () => {
    const { origin, host, port } = new URL(server.url);
    expect(new URL(server.url).hostname).toBe("127.0.0.1");
    expect((await get(`${origin}/`)).status).toBe(404);
    expect((await get(`${origin}/${"x".repeat(32)}/`)).status).toBe(404);
    expect((await get(server.url, `evil.example:${port}`)).status).toBe(404);
    expect((await get(server.url, host, "POST")).status).toBe(405);
    expect((await get(server.urlOf("nobody"))).status).toBe(404);
    expect((await get(`${server.urlOf("team/7")}/other`)).status).toBe(404);
    expect((await get(`${server.urlOf("team/7")}/events/other`)).status).toBe(404);
    expect((await get(`${server.urlOf("nobody")}/events`)).status).toBe(404);
    expect((await get(`${server.url}agents/id=%E0%A4%A`)).status).toBe(404);
    expect((await get(server.urlOf("x".repeat(5_000)))).status).toBe(404);
    expect((await get(server.url)).headers).not.toHaveProperty("access-control-allow-origin");
  });

  it("accepts only exact paths, so that no other form bypasses the token", async () => {
    const { port, pathname } = new URL(server.url);
    const agent = new URL(server.urlOf("team/7")).pathname;
    const names = ["*/..", "*", "*/../agents/names", "//[", "http://[", "http://", `http://evil.example${pathname}`];
    for (const target of [...names, `http://127.0.0.1:${port}${pathname}`, `/x/..${pathname}`, `.${agent}`])
      expect(`${target} ${await rawStatus(Number(port), target)}`).toMatch(/ HTTP\/1.1 40[04] /);
    expect(await rawStatus(Number(port), agent)).toBe("HTTP/1.1 200 OK");
  });

  it("leaves no listeners while a browser reads slowly", async () => {
    const turns = Array.from({ length: 20 }, (_, index) => ({
      text: "x".repeat(80_000),
      toolCalls: pictured.calls(`${index}`),
    }));
    await pictured.agentOn(storage, { turns: [...turns, "Done."] }).run("Go.", { agentId: "large" });
    const warn = vi.spyOn(process, "emitWarning");
    expect((await get(server.urlOf("large"))).body.length).toBeGreaterThan(1_500_000);
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
  });

  it("describes threads and sessions and shows their appends", async () => {
    await using session = new PersistenceSession({ storage, sessionId: "talk" });
    await session.addItems([{ role: "user", content: "Hello" }]);
    const { agents } = dataOf<{ agents: readonly { id: string; status: string }[] }>((await get(server.url)).body);
    expect(agents).toContainEqual(expect.objectContaining({ id: "session:talk", status: "session" }));
    const url = server.urlOf("session:talk");
    const page = dataOf<TimelineData>((await get(url)).body);
    expect(page.agent).toMatchObject({ shape: "session", status: "" });
    expect(page.items.map(({ kind }) => kind)).toContain("note");
    expect(JSON.stringify(page.items)).toContain("Hello");
    const stop = new AbortController();
    const news = newsFrom(url, stop.signal);
    const first = (await news.next()).value as TimelineNews;
    await session.addItems([{ role: "user", content: "Again" }]);
    const second = (await news.next()).value as TimelineNews;
    expect(second.from).toBe(first.items.length);
    expect(JSON.stringify(second.items)).toContain("Again");
    stop.abort();
  });

  it("says that the storage has more agents than the list", async () => {
    const listed = { agentId: "a", shape: "agent", status: "completed", cursor: "a" };
    const counted = async (count: number) => {
      const agents = async function* () {
        for (let at = 0; at < count; at++) yield listed;
      };
      const many = await serveTimeline(Object.assign(inspect(storage), { agents }) as never);
      const { agents: shown, hasMore } = dataOf<{ agents: readonly unknown[]; hasMore: boolean }>(
        (await get(many.url)).body,
      );
      await many.close();
      return [shown.length, hasMore];
    };
    expect(await counted(1_000)).toEqual([1_000, false]);
    expect(await counted(1_001)).toEqual([1_000, true]);
  });

  it("serves agents whose names are special in URLs", async () => {
    for (const agentId of [".", "..", "a/../b", "?", "#", "%2e"]) {
      await pictured.parallelCalls(storage, agentId);
      const url = server.urlOf(agentId);
      expect(new URL(url).href).toBe(url);
      expect((await get(url)).body).toContain("Sign up three people.");
    }
  });

  it("hides likely secrets in the failure reasons of the list", async () => {
    const promptExecutor = { execute: async () => Promise.reject(new Error("no https://bob:hunter2@host")) };
    const agent = new AIAgent({ promptExecutor, llmModel: "none" }).install(Persistence, { storage });
    await expect(agent.run("x", { agentId: "failing" })).rejects.toThrow("hunter2");
    const list = (await get(server.url)).body;
    expect(list).toContain("https://bob:[hidden]@host");
    expect(list).not.toContain("hunter2");
  });

  it("pushes each new event to an open page exactly once", async () => {
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

  it("follows an agent that is rolled back, continued, forked, pruned and deleted", async () => {
    const first = { toolCalls: pictured.calls("Alex") };
    const turns = [first, { toolCalls: pictured.calls("Maria") }, "Both are in."];
    const agentOf = (script: readonly ScriptedTurn[]) => pictured.agentOn(storage, { turns: script });
    const agent = agentOf(turns);
    await agent.run("Sign up Alex and Maria.", { agentId: "changing" });
    const news = newsFrom(server.urlOf("changing"), new AbortController().signal);
    let items: readonly TimelineItem[] = [];
    const isAsAnew = async (): Promise<void> => {
      const anew = itemsOf((await get(server.urlOf("changing"))).body);
      while (!isDeepStrictEqual(items, anew)) {
        const { value } = await news.next();
        items = [...items.slice(0, (value as TimelineNews).from), ...(value as TimelineNews).items];
      }
    };
    await isAsAnew();
    const durable = persistence(agent).agent("changing");
    const [, second] = await durable.getCheckpoints();
    await durable.rollbackToCheckpoint(second?.checkpointId ?? "");
    await isAsAnew();
    expect(items).toContainEqual(expect.objectContaining({ kind: "rollback" }));
    await agentOf([first, "Only Alex is in."]).resume({ agentId: "changing" });
    await durable.fork("copied");
    await isAsAnew();
    const before = items.length;
    const feature = persistence(pictured.agentOn(storage, { retention: { maxCheckpoints: 2 } }));
    expect((await feature.prune({ agentId: "changing" })).pruned).toMatchObject([{ agentId: "changing" }]);
    await isAsAnew();
    expect(items.length).toBeLessThan(before);
    await persistence(agent).deleteAgent("changing");
    expect(await news.next()).toMatchObject({ done: true });
    expect((await get(server.urlOf("changing"))).status).toBe(404);
  });

  it("unknown options and invalid paths are refused before it listens", async () => {
    await expect(serveTimeline(inspect(storage), { redact: ["a..b"] })).rejects.toThrow(/keys with dots between them/);
    await expect(serveTimeline(inspect(storage), { port: -1 })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(serveTimeline(inspect(storage), { prot: 1 } as object)).rejects.toThrow(/did you mean "port"/);
  });
});
