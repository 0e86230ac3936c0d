import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  type AgentContext,
  type PromptExecutor,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { expect, it } from "vitest";

/** Two branches ask the model. The second request of "failing" fails with the model "small". */
function forkingAgent(storage: InMemoryPersistenceStorageProvider, { automatic = true, llmModel = "small" } = {}) {
  const model: PromptExecutor = {
    async execute({ model: name, messages }) {
      if (name === "small" && messages.at(-1)?.content === "try") throw new RangeError("withdrawn");
      return { message: { role: "assistant", content: `${name} ${messages.length}` } };
    },
  };
  const ask = async ({ llm }: AgentContext): Promise<void> => llm.append(await llm.request());
  const graph = strategy<string, string>("forks", (g) => {
    const failing = g.subgraph<string, string>("failing", (s) => {
      const first = s.node("first", async (input: string, context: AgentContext) => {
        await ask(context);
        return input;
      });
      const second = s.node("second", async (input: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: "try" });
        await ask(context);
        return `${input} tried`;
      });
      s.edge(s.start, first);
      s.edge(first, second);
      s.edge(second, s.finish);
    });
    const other = g.node("other", async (input: string, context: AgentContext) => {
      await ask(context);
      return `${input} asked`;
    });
    const both = g.parallel("both", { failing, other }, (results) => `${results.failing}, ${results.other}`);
    const last = g.node("last", async (input: string, context: AgentContext) => {
      await ask(context);
      return input;
    });
    g.edge(g.start, both);
    g.edge(both, last);
    g.edge(last, g.finish);
  });
  return new AIAgent({ id: "a", promptExecutor: model, llmModel, modelRetry: false, strategy: graph }).install(
    Persistence,
    { storage, enableAutomaticPersistence: automatic },
  );
}

it.each([true, false])(
  "a run that was resumed with another model while branches were open replays exactly (automatic: %s)",
  async (automatic) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = forkingAgent(storage, { automatic });
    await expect(agent.run("go", { runId: "r" })).rejects.toThrow("withdrawn");
    expect(await agent.resume({ llmModel: "larger" })).toMatchObject({ status: "completed" });
    const replayed = await replayRun(agent, { storage, agentId: "a" });
    expect(replayed.divergence).toBeUndefined();
    expect(replayed).toMatchObject({ matches: true, status: "completed" });
  },
);
