import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, tool } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { executorOf } from "./ask.ts";
import { ChatServer, status, text, toolCalls } from "./ChatServer.ts";

function signUpAgent(server: ChatServer, signedUp: Map<string, string>) {
  const createUser = tool({
    name: "createUser",
    description: "Signs a person up",
    inputSchema: z.object({ name: z.string() }),
    effect: "idempotent",
    execute: ({ name }, { toolCallId }) => {
      signedUp.set(toolCallId, name);
      return { name };
    },
  });
  const promptExecutor = executorOf(server);
  return new AIAgent({ promptExecutor, llmModel: "served", systemPrompt: "Be brief.", tools: [createUser] });
}

/** Answers by how many of its answers the history holds; every call has the same id. */
const byHistory: Parameters<ChatServer["otherwise"]>[0] = (response, request) => {
  const turns = [
    toolCalls(["call", "createUser", { name: "Alex" }], ["call", "createUser", { name: "Zoë" }]),
    toolCalls(["call", "createUser", { name: "张伟" }]),
    text("Done."),
  ];
  const turn = turns[request.messages.filter(({ role }) => role === "assistant").length];
  turn?.(response, request);
};

describe("an agent on a model behind HTTP", () => {
  it("runs tools under unique ids and returns results under the provider's repeated ids", async () => {
    await using server = await ChatServer.start();
    server
      .next(toolCalls(["call", "createUser", { name: "Alex" }], ["call", "createUser", { name: "Zoë" }]))
      .next(toolCalls(["call", "createUser", { name: "张伟" }]))
      .next(text("Done."));
    const signedUp = new Map<string, string>();
    const result = await signUpAgent(server, signedUp).run("Sign them up");
    expect(result).toMatchObject({ status: "completed", output: "Done." });
    expect([...signedUp.values()]).toEqual(["Alex", "Zoë", "张伟"]);
    const sent = server.requests[2]?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "tool", "assistant", "tool"]);
    expect(sent.flatMap((message) => message.tool_call_id ?? [])).toEqual(["call", "call", "call"]);
    expect(sent.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual(
      ["Alex", "Zoë", "张伟"].map((name) => JSON.stringify({ name })),
    );
  });

  it("reports malformed arguments to the model without crashing", async () => {
    await using server = await ChatServer.start();
    server
      .next(toolCalls(["a", "createUser", '{"name": "Al']))
      .next(toolCalls(["b", "createUser", { name: 5 }]))
      .next(toolCalls(["c", "noSuchTool", {}]))
      .next(toolCalls(["d", "createUser", { name: "Alex" }]))
      .next(text("Done."));
    const signedUp = new Map<string, string>();
    const result = await signUpAgent(server, signedUp).run("Sign Alex up");
    expect(result).toMatchObject({ status: "completed" });
    expect([...signedUp.values()]).toEqual(["Alex"]);
    const told = server.requests.slice(1).map(({ messages }) => String(messages.at(-1)?.content));
    expect(told[0]).toMatch(/object/);
    expect(told[1]).toMatch(/name/);
    expect(told[2]).toMatch(/noSuchTool/);
  });

  it("fails with the executor's error", async () => {
    await using server = await ChatServer.start();
    server.next(status(401, "no key"));
    await expect(signUpAgent(server, new Map()).run("Sign them up")).rejects.toMatchObject({
      code: "model_request_failed",
      statusCode: 401,
    });
  });

  it("continues after a crash at any save without duplicate signups", async () => {
    await using server = await ChatServer.start();
    server.otherwise(byHistory);
    let crashed = true;
    for (let saves = 0; crashed; saves++) {
      const storage = new InMemoryPersistenceStorageProvider();
      const signedUp = new Map<string, string>();
      const agentOn = (provider: typeof storage | ReturnType<typeof crashAfter>) =>
        signUpAgent(server, signedUp).install(Persistence, { storage: provider });
      const run = { agentId: "import", runId: "monday" };
      const first = agentOn(crashAfter(storage, saves)).run("Sign them up", run);
      crashed = await first.then(
        () => false,
        () => true,
      );
      const result = await agentOn(storage).run("Sign them up", run);
      expect(result).toMatchObject({ status: "completed", output: "Done." });
      expect([...signedUp.values()].toSorted()).toEqual(["Alex", "Zoë", "张伟"]);
    }
    for (const { messages } of server.requests) {
      expect(messages.flatMap((message) => message.tool_call_id ?? []).every((id) => id === "call")).toBe(true);
    }
  });
});
