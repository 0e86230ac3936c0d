import {
  AIAgent,
  Persistence,
  persistence,
  strategy,
  textOf,
  type AgentContext,
  type PromptExecutor,
} from "agent-persistence";
import { ModelAnswerCutError } from "agent-persistence/errors";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault } from "../../support/durableAgent.ts";
import { logStorages, storages } from "../../support/storages.ts";
import { World } from "../../support/World.ts";

const whole = "a long answer";

/** A model that stops at `maxOutputTokens` characters. */
function limited() {
  const asked: unknown[] = [];
  const promptExecutor: PromptExecutor = {
    async execute({ model, parameters }) {
      asked.push({ model, ...parameters });
      const most = Number(parameters?.["maxOutputTokens"] ?? 6);
      const finishReason = most < whole.length ? "length" : "stop";
      const message = { role: "assistant", content: whole.slice(0, most) } as const;
      return { message, finishReason, usage: { outputTokens: message.content.length } };
    },
  };
  return { asked, promptExecutor };
}

describe.each(storages)("$name: a response that was cut off at its length", (storage) => {
  it("fails the run with a typed error, and a resume with a higher limit keeps the limit", async () => {
    const opened = await storage.open();
    const { asked, promptExecutor } = limited();
    const agent = () =>
      new AIAgent({ id: "a", promptExecutor, llmModel: "m" }).install(Persistence, { storage: opened() });
    const error = await agent()
      .run("go", { runId: "r" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelAnswerCutError);
    expect(error).toMatchObject({ code: "model_answer_cut", model: "m", text: "a long" });
    await expect(agent().resume()).rejects.toMatchObject({ code: "model_answer_cut" });
    const modelParameters = { maxOutputTokens: 20 };
    const result = await agent().resume({ llmModel: "n", modelParameters });
    expect(result).toMatchObject({ status: "completed", runId: "r", output: whole });
    expect(asked).toEqual([{ model: "m" }, { model: "m" }, { model: "n", maxOutputTokens: 20 }]);
    const [last] = (await persistence(agent()).agent().getCheckpoints()).toReversed();
    expect(last).toMatchObject({ model: "n", modelParameters });
  });
});

describe.each(logStorages)("$name: a response that was cut off at its length", (storage) => {
  it("counts towards the tokens of the result", async () => {
    const opened = await storage.open();
    const { promptExecutor } = limited();
    const agent = () =>
      new AIAgent({ id: "a", promptExecutor, llmModel: "m" }).install(Persistence, { storage: opened() });
    await expect(agent().run("go")).rejects.toMatchObject({ code: "model_answer_cut" });
    const result = await agent().resume({ modelParameters: { maxOutputTokens: 20 } });
    expect(result).toMatchObject({ usage: { outputTokens: 6 + whole.length } });
  });

  it("can be resumed with settings that the next process keeps, even if this process ends in the node", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book");
    const { asked, promptExecutor } = limited();
    const fault = new Fault();
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (_input: string, { llm, tools }: AgentContext) => {
        const answer = await llm.request();
        await tools.call(book, { item: "room" });
        fault.strike();
        return textOf(answer);
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = () => durableAgent(graph, opened(), { tools: [book], model: promptExecutor });
    await expect(agent().run("go")).rejects.toMatchObject({ code: "model_answer_cut" });
    await expect(agent().resume({ modelParameters: { maxOutputTokens: 20 } })).rejects.toThrow("stopped");
    fault.repair();
    expect(await agent().resume()).toMatchObject({ output: whole });
    expect(asked).toHaveLength(2);
    expect(world.done).toEqual(["book room"]);
  });
});

describe("a response that was cut off at its length", () => {
  it("counts like any other with acceptCutAnswers", async () => {
    const { promptExecutor } = limited();
    const agent = new AIAgent({ promptExecutor, llmModel: "m", acceptCutAnswers: true });
    expect(await agent.run("go")).toMatchObject({ status: "completed", output: "a long" });
  });

  it("can be caught by the node, with its partial text", async () => {
    const { promptExecutor } = limited();
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", async (_input: string, { llm }) => {
        try {
          return textOf(await llm.request());
        } catch (error) {
          if (!(error instanceof ModelAnswerCutError)) throw error;
          llm.configure({ parameters: { maxOutputTokens: 20 } });
          return `${error.text}: ${textOf(await llm.request())}`;
        }
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const agent = new AIAgent({ promptExecutor, llmModel: "m", strategy: graph });
    expect(await agent.run("go")).toMatchObject({ output: `a long: ${whole}` });
  });
});
