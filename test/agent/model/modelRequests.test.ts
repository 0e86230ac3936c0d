import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent } from "../../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../../src/agent/context/AgentContext.ts";
import type { PromptExecutor, PromptRequest } from "../../../src/agent/model/PromptExecutor.ts";
import { strategy } from "../../../src/agent/strategy/Strategy.ts";
import { tool } from "../../../src/agent/tool/Tool.ts";
import type { AssistantMessage, Message } from "../../../src/checkpoint/messages/Message.ts";
import { ScriptEndedError } from "../../../src/errors/testingErrors.ts";
import { UnknownToolError } from "../../../src/errors/agentErrors.ts";
import { scriptedModel } from "../../../src/testing/doubles/scriptedModel.ts";
import { testFeature } from "../testFeature.ts";

const named = (name: string) => tool({ name, description: "", inputSchema: z.string(), execute: (text) => text });
const [a, b] = [named("a"), named("b")];

function recording(answer: AssistantMessage = { role: "assistant", content: "ok" }) {
  const requests: Omit<PromptRequest, "abortSignal">[] = [];
  const promptExecutor: PromptExecutor = {
    execute: async ({ abortSignal: _signal, ...request }) => (requests.push(request), { message: answer }),
  };
  return { requests, promptExecutor };
}

async function inNode(
  promptExecutor: PromptExecutor,
  body: (context: AgentContext) => Promise<unknown>,
  hooks = testFeature(() => undefined),
) {
  const one = strategy<string, string>("s", (graph) => {
    const node = graph.node("node", async (_input: string, context) => (await body(context), ""));
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const agent = new AIAgent({
    promptExecutor,
    llmModel: "m",
    modelParameters: { temperature: 1 },
    systemPrompt: "be",
    tools: [a, b],
    strategy: one,
  });
  await agent.install(hooks).run("x");
}

describe("a model request", () => {
  it("sends history, model, parameters and tools, and appends no message", async () => {
    const { requests, promptExecutor } = recording();
    await inNode(promptExecutor, async ({ llm }) => {
      llm.append({ role: "user", content: "hi" });
      await llm.request();
      await llm.request({ model: "other", tools: [b] });
      llm.configure({ model: "third", parameters: { temperature: 0 }, tools: [] });
      await llm.request();
    });
    const messages = [
      { role: "system", content: "be" },
      { role: "user", content: "hi" },
    ];
    expect(requests).toEqual([
      { messages, model: "m", parameters: { temperature: 1 }, tools: [a, b] },
      { messages, model: "other", parameters: { temperature: 1 }, tools: [b] },
      { messages, model: "third", parameters: { temperature: 0 }, tools: [] },
    ]);
  });

  it("refuses to offer a tool that the agent does not have", async () => {
    const { promptExecutor } = recording();
    const refused = inNode(promptExecutor, ({ llm }) => llm.request({ tools: [named("c")] }));
    await expect(refused).rejects.toThrow(UnknownToolError);
    await expect(refused).rejects.toThrow(
      expect.objectContaining({ code: "unknown_tool", toolName: "c", tools: ["a", "b"] }),
    );
    await expect(inNode(promptExecutor, async ({ llm }) => llm.configure({ tools: [named("a")] }))).rejects.toThrow(
      UnknownToolError,
    );
  });

  it("rejects with the provider's error, which the node may catch", async () => {
    const down: PromptExecutor = { execute: () => Promise.reject(new RangeError("busy")) };
    const failures: unknown[] = [];
    const listening = testFeature((pipeline) =>
      pipeline.onModelRequestFailed(({ error }) => void failures.push(error)),
    );
    await inNode(
      down,
      async ({ llm }) => expect(await llm.request().catch((error: unknown) => error)).toEqual(new RangeError("busy")),
      listening,
    );
    expect(failures).toEqual([new RangeError("busy")]);
    await expect(inNode(down, ({ llm }) => llm.request())).rejects.toThrow("busy");
  });

  it("fails the run with an interceptor's error, even if the node catches it", async () => {
    const failing = testFeature((pipeline) =>
      pipeline.aroundModelRequest(async () => {
        throw new RangeError("storage");
      }),
    );
    await expect(
      inNode(recording().promptExecutor, ({ llm }) => llm.request().catch(() => undefined), failing),
    ).rejects.toThrow("storage");
  });

  it("is counted from 0 in each visit of a node", async () => {
    const seen: unknown[] = [];
    const counting = testFeature((pipeline) =>
      pipeline.aroundModelRequest((event, next) => (seen.push([event.ordinal, event.visit]), next(event))),
    );
    await inNode(recording().promptExecutor, ({ llm }) => Promise.all([llm.request(), llm.request()]), counting);
    expect(seen).toEqual([
      [0, { base: 0, ordinal: 0 }],
      [1, { base: 0, ordinal: 0 }],
    ]);
  });
});

describe("the default loop", () => {
  it("passes the objects of the history to the executor without copying them", async () => {
    const seen: { readonly output: unknown; readonly next: unknown; readonly messages: readonly Message[] }[] = [];
    const agent = new AIAgent({
      llmModel: "m",
      tools: [a],
      promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "a", input: "1" }] }, "done"]),
    }).install(
      testFeature((pipeline) =>
        pipeline.onNodeCompleted(
          ({ output, next, run }) => void seen.push({ output, next: next.input, messages: run.state.history.messages }),
        ),
      ),
    );
    expect(await agent.run("go")).toMatchObject({ output: "done" });
    const [ask, act, end] = seen;
    expect(ask?.output).toBe(ask?.messages[1]);
    expect(ask?.next).toBe(ask?.output);
    expect(act?.next).toBe(act?.output);
    expect(end?.messages[2]).toBe(act?.output);
    expect(end?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(end?.next).toBe("done");
  });

  it("is isolated from changes to objects that the executor keeps", async () => {
    const content = [{ type: "text" as const, text: "ok" }];
    const { promptExecutor } = recording({ role: "assistant", content });
    await inNode(promptExecutor, async ({ llm }) => {
      const answer = await llm.request();
      content[0]!.text = "changed";
      expect(answer).toEqual({ role: "assistant", content: [{ type: "text", text: "ok" }] });
    });
  });
});

describe("a scripted model", () => {
  const ask = (model: PromptExecutor, messages: readonly Message[]) =>
    model
      .execute({ messages, tools: [], model: "m", abortSignal: new AbortController().signal })
      .then(({ message }) => message);
  const answered = (count: number): readonly Message[] =>
    Array.from({ length: count }, () => ({ role: "assistant", content: "" }));

  it("chooses its response by the number of its responses in the history", async () => {
    const model = scriptedModel(["one", (messages) => `${messages.length} before`]);
    expect(await ask(model, answered(1))).toEqual({ role: "assistant", content: "1 before" });
    expect(await ask(model, answered(0))).toEqual({ role: "assistant", content: "one" });
    await expect(ask(model, answered(2))).rejects.toThrow(ScriptEndedError);
    await expect(ask(model, answered(2))).rejects.toThrow(
      expect.objectContaining({ code: "script_ended", turns: 2, turn: 2 }),
    );
  });

  it("names a single response in the singular", async () => {
    await expect(ask(scriptedModel(["one"]), answered(1))).rejects.toThrow("has 1 response, and");
  });

  it("repeats its tool-call ids unless configured otherwise", async () => {
    const turn = {
      text: "hm",
      toolCalls: [
        { toolName: "a", input: 1 },
        { toolName: "a", input: 2 },
      ],
    };
    const idsOf = ({ content }: AssistantMessage) =>
      typeof content === "string"
        ? []
        : content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    expect(idsOf(await ask(scriptedModel([turn, turn]), answered(1)))).toEqual(["call_0", "call_1"]);
    const unique = scriptedModel([turn, turn], { toolCallIds: "unique" });
    const asked = [...idsOf(await ask(unique, answered(1))), ...idsOf(await ask(unique, answered(1)))];
    expect(new Set(asked).size).toBe(4);
  });
});
