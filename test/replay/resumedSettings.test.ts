import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type PromptExecutor,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const item = tool({
  name: "item",
  description: "",
  inputSchema: z.object({}),
  effect: "idempotent",
  execute: () => "made",
});

interface Chain {
  readonly automatic: boolean;
  /** The number of nodes that make a request before the node that fails. */
  readonly before: number;
  readonly llmModel?: string;
  readonly savesWithin?: boolean;
}

/** A chain of nodes that ask the model. One of them fails with the model "small". */
function chainAgent(
  storage: InMemoryPersistenceStorageProvider,
  { automatic, before, llmModel = "small", savesWithin = false }: Chain,
): AIAgent<string, string> {
  const model: PromptExecutor = {
    async execute({ model: name, parameters, messages }) {
      if (name === "small" && messages.at(-1)?.content === "try") throw new RangeError("withdrawn");
      return { message: { role: "assistant", content: `${name} ${JSON.stringify(parameters ?? {})}` } };
    },
  };
  const ask = async (input: string, { llm }: AgentContext): Promise<string> => {
    const answer = await llm.request();
    llm.append(answer);
    return `${input} ${JSON.stringify(answer.content)}`;
  };
  const graph = strategy<string, string>("chain", (g) => {
    const nodes = Array.from({ length: before }, (_, at) => g.node(`n${at}`, ask));
    const fails = g.node("fails", async (input: string, context: AgentContext) => {
      if (savesWithin) await persistence(context).createCheckpoint();
      await context.tools.call(item, {});
      context.llm.append({ role: "user", content: "try" });
      return ask(input, context);
    });
    const last = g.node("last", async (input: string, context: AgentContext) => {
      context.llm.configure({ parameters: { temperature: 1 } });
      return ask(input, context);
    });
    [...nodes, fails, last].forEach((node, at, all) => g.edge(all[at - 1] ?? g.start, node));
    g.edge(last, g.finish);
  });
  return new AIAgent({
    id: "a",
    promptExecutor: model,
    llmModel,
    modelRetry: false,
    tools: [item],
    strategy: graph,
  }).install(Persistence, { storage, enableAutomaticPersistence: automatic });
}

describe("a run that was resumed with other model settings", () => {
  const chains: readonly Chain[] = [
    { automatic: true, before: 0 },
    { automatic: true, before: 2 },
    { automatic: false, before: 0 },
    { automatic: false, before: 1 },
    { automatic: true, before: 1, savesWithin: true },
  ];

  it.each(chains)("replays exactly: %o", async (chain) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = chainAgent(storage, chain);
    await expect(agent.run("go", { runId: "r" })).rejects.toThrow("withdrawn");
    const resumed = await agent.resume({ llmModel: "larger", modelParameters: { effort: 2 } });
    expect(resumed).toMatchObject({ status: "completed" });
    const replayed = await replayRun(agent, { storage, agentId: "a" });
    expect(replayed.divergence).toBeUndefined();
    expect(replayed).toMatchObject({ matches: true, status: "completed" });
    // Without checkpoints, the resume has repeated all nodes with its settings.
    if (chain.before === 0 || !chain.automatic) return;
    const other = await replayRun(chainAgent(storage, { ...chain, llmModel: "other" }), { storage, agentId: "a" });
    expect(other.divergence).toMatchObject({ what: "request", nodeId: "n0" });
  });
});
