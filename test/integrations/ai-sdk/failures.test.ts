import { describe, expect, it } from "vitest";
import { aiSdkExecutor, ModelRequestError } from "agent-persistence/ai-sdk";
import { AgentPersistenceError } from "../../../src/errors/AgentPersistenceError.ts";
import { ask, executorOf } from "./ask.ts";
import { ChatServer, json, status, text } from "./ChatServer.ts";
import { fakeModel } from "./fakeModel.ts";

describe("a failed request", () => {
  it.each([
    [400, false],
    [401, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ])("with status %i throws one typed error without a retry", async (code, retryable) => {
    await using server = await ChatServer.start();
    server.next(status(code, "no, because"));
    const failure = await ask(executorOf(server)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelRequestError);
    expect(AgentPersistenceError.isInstance(failure)).toBe(true);
    expect(failure).toMatchObject({
      code: "model_request_failed",
      model: "served",
      provider: "loopback.chat",
      statusCode: code,
      retryable,
      retryAfterMs: undefined,
      message: expect.stringContaining("no, because"),
    });
    expect((failure as Error).message).not.toContain("secret");
    expect(server.requests).toHaveLength(1);
  });

  it.each([401, 403])("with status %i suggests to check the key", async (code) => {
    await using server = await ChatServer.start();
    server.next(status(code, "no such key."));
    await expect(ask(executorOf(server))).rejects.toThrow(/no such key\. Check the API key and its permissions\.$/);
  });

  it.each([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after-ms": "150", "retry-after": "2" }, 150],
    [{ date: "Wed, 01 Jan 2025 00:00:00 GMT", "retry-after": "Wed, 01 Jan 2025 00:00:30 GMT" }, 30_000],
    [{ date: "Wed, 01 Jan 2025 00:00:30 GMT", "retry-after": "Wed, 01 Jan 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
  ])("states the delay before a retry: %j", async (headers, retryAfterMs) => {
    await using server = await ChatServer.start();
    server.next(status(429, "slow down", headers));
    await expect(ask(executorOf(server))).rejects.toMatchObject({ retryAfterMs, retryable: true });
  });

  it("with a dropped connection has no status and may be retried", async () => {
    await using server = await ChatServer.start();
    server.next((response) => response.destroy()).next(text("here"));
    const executor = executorOf(server);
    const failure = await ask(executor).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "model_request_failed", statusCode: undefined, retryable: true });
    await expect(ask(executor)).resolves.toMatchObject({ finishReason: "stop" });
  });

  it("with a truncated response throws a typed error", async () => {
    await using server = await ChatServer.start();
    server.next((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"choices": [{"mess', () => response.destroy());
    });
    const failure = await ask(executorOf(server)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "model_request_failed", retryable: true });
  });

  it("to an unreachable server throws a typed error", async () => {
    const server = await ChatServer.start();
    const executor = executorOf(server);
    await server[Symbol.asyncDispose]();
    await expect(ask(executor)).rejects.toMatchObject({ code: "model_request_failed", retryable: true });
  });

  it.each([
    ["invalid JSON", "<html>"],
    ["without choices", { choices: [] }],
    ["in another shape", { answer: 42 }],
  ])("with the response %s throws a typed error", async (_, body) => {
    await using server = await ChatServer.start();
    server.next(json(200, body));
    await expect(ask(executorOf(server))).rejects.toMatchObject({ code: "model_request_failed", retryable: false });
  });

  it("keeps any error of the provider as its cause", async () => {
    const model = { ...fakeModel("v3", {}), doGenerate: () => Promise.reject("just text") };
    await expect(ask(aiSdkExecutor(model))).rejects.toMatchObject({
      code: "model_request_failed",
      cause: "just text",
      retryable: false,
    });
  });
});

describe("an aborted request", () => {
  it("rejects with the signal's reason while in flight and closes the connection", async () => {
    await using server = await ChatServer.start();
    const abort = new AbortController();
    const reason = new Error("the user left");
    const closed = new Promise<void>((resolve) => {
      server.next((response) => {
        response.on("close", () => resolve());
        abort.abort(reason);
      });
    });
    await expect(ask(executorOf(server), { abortSignal: abort.signal })).rejects.toBe(reason);
    await closed;
  });

  it("sends no request if it was already aborted", async () => {
    await using server = await ChatServer.start();
    const reason = new Error("too late");
    await expect(ask(executorOf(server), { abortSignal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });
});
