import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { createWebhook } from "agent-persistence/webhook";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { AgentBusyError } from "../../../src/errors/storageErrors.ts";
import { Inbox } from "../../../src/journal/inbox/Inbox.ts";

const secret = "a secret that is long enough for a test";
const url = "https://shop.example/hooks/";

/** An agent that waits for payments until one is large enough. */
function shop(storage = new InMemoryPersistenceStorageProvider()) {
  const checkout = strategy<string, string>("checkout", (graph) => {
    const pay = graph.node("pay", async (_order: string, context) => {
      const amounts: number[] = [];
      while ((amounts.at(-1) ?? 0) < 100) {
        const paid = await context.receive("paid", { schema: z.object({ cents: z.int() }).nullable() });
        amounts.push(paid?.cents ?? 0);
      }
      return amounts.join(",");
    });
    graph.edge(graph.start, pay);
    graph.edge(pay, graph.finish);
  });
  return new AIAgent({ strategy: checkout, promptExecutor: scriptedModel([]), llmModel: "none" }).install(Persistence, {
    storage,
    sleepInProcessMs: 0,
  });
}

const post = (token: string, body: string | null, headers: Record<string, string> = {}) =>
  new Request(url + token, { method: "POST", body, headers });

describe("a webhook", () => {
  it("sends each body as one event, also if a request is repeated", async () => {
    const agent = shop();
    const { token, handler } = createWebhook({ agent, secret });
    const paid = await token("order-8", "paid");
    expect(await token("order-8", "paid")).toBe(paid);
    const send = async (...given: [string | null, Record<string, string>?]) =>
      (await handler(post(paid, ...given))).status;
    expect(await send('{"cents":1}', { "webhook-id": "a" })).toBe(202);
    expect(await send('{"cents":1}', { "webhook-id": "a" })).toBe(202);
    expect(await send('{"cents":2}', { "webhook-id": "a" })).toBe(409);
    expect(await send('{"cents":3}', { "idempotency-key": "b" })).toBe(202);
    expect(await send(null)).toBe(202);
    expect(await send('{"cents":100}')).toBe(202);
    expect(await agent.run("shirt", { agentId: "order-8" })).toMatchObject({ output: "1,3,0,100" });
  });

  it("keeps the ids of different events apart", async () => {
    const { token, handler } = createWebhook({ agent: shop(), secret });
    const sent = [
      ["paid", "a"],
      ["sent", "a"],
      ["a", "b/c"],
      ["a/b", "c"],
      ["a%2Fb", "c"],
      ["a%b", "c"],
      ["a%25b", "c"],
    ] as const;
    for (const [index, [name, id]] of sent.entries()) {
      const request = post(await token("order-8", name), `${index}`, { "webhook-id": id });
      expect((await handler(request)).status).toBe(202);
    }
  });

  it("responds with 400 to a body that is nested too deeply, or whose client is gone", async () => {
    const agent = shop();
    const { token, handler } = createWebhook({ agent, secret });
    const paid = await token("order-8", "paid");
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    expect((await handler(post(paid, deep))).status).toBe(400);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("[1,"));
        controller.error(new Error("socket hang up"));
      },
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    expect((await handler(new Request(url + paid, init))).status).toBe(400);
    expect(await agent.run("shirt", { agentId: "order-8" })).toMatchObject({ status: "waiting" });
  });

  it.each([
    ["in the middle", [0x22, 0xff, 0x22]],
    ["at the end", [0x22, 0x61, 0x22, 0xc3]],
  ])("responds with 400 to a body with bytes that are not UTF-8 %s", async (_where, bytes) => {
    const agent = shop();
    const { token, handler } = createWebhook({ agent, secret });
    const init = { method: "POST", body: Uint8Array.from(bytes) };
    expect((await handler(new Request(url + (await token("order-8", "paid")), init))).status).toBe(400);
    expect(await agent.run("shirt", { agentId: "order-8" })).toMatchObject({ status: "waiting" });
  });

  it("throws if another reader has the body", async () => {
    const { token, handler } = createWebhook({ agent: shop(), secret });
    const request = post(await token("order-8", "paid"), "1");
    request.body?.getReader();
    await expect(handler(request)).rejects.toThrow(TypeError);
  });

  it("responds with 503 while other senders keep the inbox", async () => {
    const { token, handler } = createWebhook({ agent: shop(), secret });
    const busy = new AgentBusyError("inbox:order-8", { host: "other", processId: 1, nonce: "n", generation: 1 }, 1_000);
    const send = vi.spyOn(Inbox.prototype, "send").mockRejectedValueOnce(busy);
    const refused = await handler(post(await token("order-8", "paid"), "1"));
    send.mockRestore();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  it("refuses methods, tokens and bodies, and sends nothing", async () => {
    const agent = shop();
    const { token, handler } = createWebhook({ agent, secret, maxBodyBytes: 20 });
    const paid = await token("order-8", "paid");
    const status = async (request: Request) => (await handler(request)).status;
    const got = await handler(new Request(url + paid));
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await status(post(paid, "{"))).toBe(400);
    expect(await status(post(paid, `"${"x".repeat(30)}"`))).toBe(413);
    expect(await status(post(`${paid}x`, "1"))).toBe(404);
    expect(await status(post("", "1"))).toBe(404);
    const other = createWebhook({ agent, secret: `${secret}!` });
    expect((await other.handler(post(paid, "1"))).status).toBe(404);
    expect(await agent.run("shirt", { agentId: "order-8" })).toMatchObject({ status: "waiting" });
  });

  it("accepts no changed token", async () => {
    const { token, handler } = createWebhook({ agent: shop(), secret });
    const paid = await token("order-8", "paid");
    const changed = fc.oneof(
      fc.string(),
      fc
        .record({ at: fc.nat(paid.length - 1), by: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1 }) })
        .map(({ at, by }) => paid.slice(0, at) + by + paid.slice(at + 1)),
    );
    await fc.assert(
      fc.asyncProperty(changed, async (wrong) => {
        const path = encodeURIComponent(wrong);
        fc.pre(path !== paid && !sameBytes(path, paid));
        expect((await handler(post(path, "1"))).status).toBe(404);
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    [{ secret: "short" }, "secret"],
    [{ agent: {} }, "an AIAgent"],
    [{ maxBodyByte: 1 }, 'did you mean "maxBodyBytes"'],
  ])("refuses the options %j", (options, message) => {
    expect(() => createWebhook({ agent: shop(), secret, ...options } as never)).toThrow(message);
  });

  it("refuses an agent without Persistence, and invalid ids and names", async () => {
    const bare = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none" });
    expect(() => createWebhook({ agent: bare as never, secret })).toThrow(
      expect.objectContaining({ code: "feature_not_installed" }),
    );
    const { token } = createWebhook({ agent: shop(), secret });
    await expect(token("", "paid")).rejects.toMatchObject({ code: "invalid_agent_id" });
    await expect(token("a", "")).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("a webhook on a server", () => {
  const closing: (() => void)[] = [];
  afterEach(() => closing.splice(0).forEach((close) => close()));

  it("continues to work after a restart with the same secret", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const paid = await createWebhook({ agent: shop(storage), secret }).token("order-8", "paid");
    const { handler } = createWebhook({ agent: shop(storage), secret });
    const server = createServer((request, response) => {
      const init = { method: "POST", body: Readable.toWeb(request), duplex: "half" } as RequestInit;
      void handler(new Request(`http://host${request.url}`, init)).then(({ status }) =>
        response.writeHead(status).end(),
      );
    }).listen(0, "127.0.0.1");
    closing.push(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const sent = await fetch(`http://127.0.0.1:${port}/hooks/${paid}`, { method: "POST", body: '{"cents":200}' });
    expect(sent.status).toBe(202);
    expect(await shop(storage).run("shirt", { agentId: "order-8" })).toMatchObject({ output: "200" });
  });
});

/** The last character of base64url may have bits that carry no data. */
function sameBytes(one: string, other: string): boolean {
  const decoded = (token: string) => token.split(".").map((part) => Buffer.from(part, "base64url").toString("hex"));
  return decoded(one).join(".") === decoded(other).join(".");
}
