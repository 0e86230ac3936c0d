import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  textOf,
  type AgentContext,
} from "agent-persistence";
import { replayRun } from "agent-persistence/replay";
import { scriptedModel } from "agent-persistence/testing";
import { beforeAll, describe, expect, it } from "vitest";

const storage = new InMemoryPersistenceStorageProvider();

/** An agent whose middle node asks a model. */
function asking(responses: readonly string[] = []) {
  const steps = strategy<string, string>("steps", (graph) => {
    const first = graph.node("first", (input: string) => `${input} first`);
    const middle = graph.node("middle", async (input: string, context: AgentContext) => {
      const message = await context.llm.request();
      return `${input} ${textOf(message)}`;
    });
    const last = graph.node("last", (input: string) => `${input} last`);
    graph.edge(graph.start, first);
    graph.edge(first, middle);
    graph.edge(middle, last);
    graph.edge(last, graph.finish);
  });
  const promptExecutor = scriptedModel(responses);
  return new AIAgent({ id: "a", promptExecutor, llmModel: "m", strategy: steps }).install(Persistence, { storage });
}

describe("a replay from a checkpoint of an abandoned line", () => {
  let abandoned = "";
  beforeAll(async () => {
    const agent = asking(["one"]);
    await agent.run("go", { runId: "r" });
    const durable = persistence(agent).agent("a");
    const checkpoints = await durable.getCheckpoints();
    const after = (nodeId: string) => checkpoints.find((each) => each.nodeId === nodeId)?.checkpointId ?? "";
    abandoned = after("last");
    await durable.rollbackToCheckpoint(after("middle"));
    await asking(["two"]).resume();
  });

  it("starts with the input of that line", async () => {
    const replayed = await replayRun(asking(), { storage, agentId: "a", from: abandoned });
    expect(replayed).toMatchObject({ status: "completed", output: "go first one last", matches: false });
  });

  it("leaves the exact replay on the line that counts", async () => {
    const replayed = await replayRun(asking(), { storage, agentId: "a" });
    expect(replayed).toMatchObject({ matches: true, output: "go first two last" });
  });
});
