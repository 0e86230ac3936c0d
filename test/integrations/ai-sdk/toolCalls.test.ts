import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tool } from "../../../src/agent/tool/Tool.ts";
import type { AssistantMessage, Message, ToolMessage } from "../../../src/checkpoint/messages/Message.ts";
import { ask, callsOf, executorOf, partsOf } from "./ask.ts";
import { ChatServer, completion, text, toolCalls } from "./ChatServer.ts";

const createUser = tool({
  name: "createUser",
  description: "Signs a person up",
  inputSchema: z.object({ name: z.string(), age: z.coerce.number().default(0) }),
  execute: ({ name }) => name,
});

/** What the runtime makes of an answer: ids of our own, the provider's kept beside them. */
function renamed(message: AssistantMessage, turn: number): AssistantMessage {
  const content = partsOf(message).map((part, place) =>
    part.type === "tool-call"
      ? { ...part, toolCallId: `ours-${turn}-${place}`, providerToolCallId: part.toolCallId }
      : part,
  );
  return { role: "assistant", content };
}

function resultsOf(message: AssistantMessage, output: (place: number) => unknown): ToolMessage {
  const results = callsOf(message).map(({ toolCallId, toolName }, place) => ({
    type: "tool-result" as const,
    toolCallId,
    toolName,
    output: output(place),
  }));
  return { role: "tool", content: results };
}

describe("tool calls over HTTP", () => {
  it("are offered with the input schema of the tool", async () => {
    await using server = await ChatServer.start();
    server.next(toolCalls(["call_a", "createUser", { name: "Alex" }]));
    const answer = await ask(executorOf(server), { tools: [createUser] });
    expect(callsOf(answer.message)).toEqual([
      { type: "tool-call", toolCallId: "call_a", toolName: "createUser", input: { name: "Alex" } },
    ]);
    expect(answer.finishReason).toBe("tool-calls");
    expect(server.requests[0]?.tools?.map((told) => told.function)).toMatchObject([
      {
        name: "createUser",
        description: "Signs a person up",
        parameters: {
          type: "object",
          properties: { name: { type: "string" }, age: { type: "number", default: 0 } },
          required: ["name"],
        },
      },
    ]);
  });

  it("follow the preceding text in order", async () => {
    await using server = await ChatServer.start();
    const call = (id: string, name: string) => ({
      id,
      type: "function",
      function: { name: "createUser", arguments: JSON.stringify({ name }) },
    });
    server.next(completion({ content: "Two.", tool_calls: [call("a", "Alex"), call("b", "Zoë")] }, "tool_calls"));
    const { message } = await ask(executorOf(server), { tools: [createUser] });
    expect(partsOf(message)).toEqual([
      { type: "text", text: "Two." },
      { type: "tool-call", toolCallId: "a", toolName: "createUser", input: { name: "Alex" } },
      { type: "tool-call", toolCallId: "b", toolName: "createUser", input: { name: "Zoë" } },
    ]);
  });

  it.each([
    ["the same for every call", [["call", "call"], ["call"]]],
    ["restarting at 0 in every response", [["0", "1"], ["0"]]],
    [
      "repeated in one response",
      [
        ["x", "x"],
        ["y", "y"],
      ],
    ],
    [
      "unique",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
  ])("with ids that are %s get their results under those ids", async (_, turns) => {
    await using server = await ChatServer.start();
    const executor = executorOf(server);
    let messages: readonly Message[] = [{ role: "user", content: "Sign them up" }];
    for (const [turn, ids] of turns.entries()) {
      server.next(toolCalls(...ids.map((id, place) => [id, "createUser", { name: `${turn}.${place}` }] as const)));
      const message = renamed((await ask(executor, { messages, tools: [createUser] })).message, turn);
      messages = [...messages, message, resultsOf(message, (place) => `did ${turn}.${place}`)];
    }
    server.next(text("done"));
    await ask(executor, { messages, tools: [createUser] });

    const sent = server.requests.at(-1)?.messages ?? [];
    expect(sent.flatMap((message) => message.tool_calls?.map(({ id }) => id) ?? [])).toEqual(turns.flat());
    expect(sent.filter(({ role }) => role === "tool")).toEqual(
      turns.flatMap((ids, turn) =>
        ids.map((id, place) => ({ role: "tool", tool_call_id: id, content: `did ${turn}.${place}` })),
      ),
    );
    expect(JSON.stringify(sent)).not.toContain("ours-");
  });

  it("without a provider are sent under the library's ids", async () => {
    await using server = await ChatServer.start();
    server.next(text("done"));
    const call = { type: "tool-call" as const, toolCallId: "ours", toolName: "createUser", input: { name: "Alex" } };
    const message: AssistantMessage = { role: "assistant", content: [call] };
    await ask(executorOf(server), { messages: [message, resultsOf(message, () => "ok")] });
    expect(server.requests[0]?.messages).toMatchObject([{ tool_calls: [{ id: "ours" }] }, { tool_call_id: "ours" }]);
  });

  it("with malformed arguments return the text and are sent back as an object", async () => {
    const malformed = '{"name": "Alex"';
    await using server = await ChatServer.start();
    server.next(toolCalls(["a", "createUser", malformed], ["b", "createUser", "sorry, I cannot"])).next(text("done"));
    const executor = executorOf(server);
    const { message } = await ask(executor, { tools: [createUser] });
    expect(callsOf(message).map(({ input }) => input)).toEqual([malformed, "sorry, I cannot"]);
    expect(z.safeParse(createUser.inputSchema, malformed).success).toBe(false);
    await ask(executor, { messages: [message, resultsOf(message, () => "not an object")] });
    expect(server.requests[1]?.messages[0]?.tool_calls?.map((call) => call.function.arguments)).toEqual(["{}", "{}"]);
  });

  it("without arguments have an empty object", async () => {
    await using server = await ChatServer.start();
    server.next(toolCalls(["a", "ping", ""]));
    expect(callsOf((await ask(executorOf(server))).message)[0]?.input).toEqual({});
  });

  it("keep hostile keys as plain keys", async () => {
    await using server = await ChatServer.start();
    server.next(toolCalls(["a", "ping", '{"__proto__": {"admin": true}}']));
    const [call] = callsOf((await ask(executorOf(server))).message);
    expect(Object.keys(call?.input as object)).toEqual(["__proto__"]);
    expect({}).not.toHaveProperty("admin");
  });
});
