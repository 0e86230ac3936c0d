import { describe, expect, it } from "vitest";
import { AIAgent } from "../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../src/agent/context/AgentContext.ts";
import { strategy } from "../../src/agent/strategy/Strategy.ts";
import type { Message } from "../../src/checkpoint/messages/Message.ts";
import { scriptedModel } from "../../src/testing/doubles/scriptedModel.ts";

/** The code, the subject and the places of what using the context throws. */
async function refusal(use: (context: AgentContext) => unknown, answer: unknown = { role: "assistant", content: "" }) {
  const seen: unknown[] = [];
  const agent = new AIAgent({
    llmModel: "m",
    promptExecutor: { execute: async () => ({ message: answer as Message & { role: "assistant" } }) },
    strategy: strategy<string, string>("s", (graph) => {
      const node = graph.node("node", async (text: string, context) => {
        const before = context.llm.messages;
        try {
          await use(context);
        } catch (error) {
          const { code, subject, problems } = error as {
            code?: string;
            subject?: string;
            problems?: { path: string }[];
          };
          seen.push({ code, subject, paths: problems?.map(({ path }) => path) });
        }
        expect(context.llm.messages).toEqual(before);
        return text;
      });
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    }),
  });
  await agent.run("x");
  return seen[0];
}

describe("model messages", () => {
  it.each([
    ["nothing", undefined, [""]],
    ["text", "hello", [""]],
    ["an unknown role", { role: "robot", content: "x" }, ["role"]],
    ["no content", { role: "user" }, ["content"]],
    ["a number as content", { role: "assistant", content: 7 }, ["content"]],
    ["parts where the system speaks", { role: "system", content: [] }, ["content"]],
    ["text where a tool answers", { role: "tool", content: "x" }, ["content"]],
  ])("are refused if they are invalid when appended: %s", async (_name, message, paths) => {
    const appended = await refusal(({ llm }) => llm.append(message as unknown as Message));
    expect(appended).toEqual({ code: "invalid_input", subject: "message to append", paths });
    const rewritten = await refusal(({ llm }) =>
      llm.rewrite((messages) => [...messages, message as unknown as Message]),
    );
    expect(rewritten).toEqual({ code: "invalid_input", subject: "message of the new history", paths });
  });

  it.each([
    ["nothing", undefined],
    ["a promise", Promise.resolve([])],
    ["an iterator, which ends with its first use", [{ role: "user", content: "x" }].values()],
  ])("are refused if they are no list when rewritten: %s", async (_name, given) => {
    const seen = await refusal(({ llm }) => llm.rewrite(() => given as unknown as readonly Message[]));
    expect(seen).toEqual({ code: "invalid_input", subject: "new history", paths: [""] });
  });

  it.each([
    ["a part without a type", { content: [{ text: "x" }] }],
    ["a tool call without a name", { content: [{ type: "tool-call", toolCallId: "1", input: {} }] }],
    ["a file that is a number", { content: [{ type: "file", data: 7, mediaType: "x" }] }],
  ])("are refused with their position in the history if they are invalid: %s", async (_name, message) => {
    const seen = await refusal(({ llm }) => llm.append({ role: "assistant", ...message } as unknown as Message));
    expect(seen).toMatchObject({ code: "invalid_input", subject: "message to append" });
  });

  it.each([[undefined], ["hello"], [{ role: "user", content: "I am the user" }], [{ role: "assistant" }]])(
    "are refused if they are invalid responses of the model: %j",
    async (answer) => {
      const seen = await refusal(({ llm }) => llm.request(), answer ?? null);
      expect(seen).toMatchObject({ code: "model_answer_malformed" });
    },
  );

  it.each([[undefined], [null], ["hello"], [{}]])("are required from an executor: %j is refused", async (answer) => {
    const agent = new AIAgent({ llmModel: "m", promptExecutor: { execute: async () => answer as never } });
    await expect(agent.run("x")).rejects.toMatchObject({ code: "model_answer_malformed", model: "m" });
  });

  it.each([
    ["1,000 calls, by default", {}, 1_000, true],
    ["1,001 calls, by default", {}, 1_001, false],
    ["2 calls where 1 is allowed", { maxToolCallsPerAnswer: 1 }, 2, false],
    ["1,001 calls where any number is allowed", { maxToolCallsPerAnswer: Number.POSITIVE_INFINITY }, 1_001, true],
  ])("may request a limited number of calls: %s", async (_name, limit, count, isTaken) => {
    const content = Array.from({ length: count }, (_, at) => ({
      type: "tool-call" as const,
      toolCallId: `${at}`,
      toolName: "none",
      input: {},
    }));
    let asked = 0;
    const execute = async () => ({
      message: { role: "assistant" as const, content: asked++ === 0 ? content : "done" },
    });
    const agent = new AIAgent({ llmModel: "m", promptExecutor: { execute }, ...limit });
    const ended = await agent.run("x").catch((error: unknown) => error);
    if (isTaken) return expect(ended).toMatchObject({ status: "completed", output: "done" });
    return expect([ended, asked]).toMatchObject([{ code: "too_many_tool_calls" }, 1]);
  });

  it("are refused by tools.execute if they are invalid", async () => {
    const seen = await refusal(({ tools }) => tools.execute({ role: "user", content: "x" } as never));
    expect(seen).toEqual({ code: "invalid_input", subject: "message to execute", paths: ["role"] });
  });

  it("stay valid with extra fields of other libraries", async () => {
    const message = { role: "user", content: [{ type: "text", text: "x", extra: 1 }], id: "7" } as unknown as Message;
    const agent = new AIAgent({
      llmModel: "m",
      promptExecutor: scriptedModel([]),
      strategy: strategy<string, readonly Message[]>("s", (graph) => {
        const node = graph.node("node", (_text: string, { llm }) => (llm.append(message), llm.messages));
        graph.edge(graph.start, node);
        graph.edge(node, graph.finish);
      }),
    });
    expect(await agent.run("x")).toMatchObject({ output: [message] });
  });
});
