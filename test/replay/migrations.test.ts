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
import { z } from "zod";

const storage = new InMemoryPersistenceStorageProvider();

/** Version 1 renames the node `gate` to `ask`. */
function asking(version: 0 | 1, ending = "!") {
  const asks = strategy<string, string>("asks", { version }, (graph) => {
    const first = graph.node("first", (input: string) => `${input} first`);
    const gate = graph.node(version === 0 ? "gate" : "ask", async (input: string, context: AgentContext) => {
      const message = await context.llm.request();
      const answer = await context.requestInput({ prompt: "Continue?", schema: z.string() });
      return `${input} ${textOf(message)} ${answer}${version === 0 ? "" : ending}`;
    });
    graph.edge(graph.start, first);
    graph.edge(first, gate);
    graph.edge(gate, graph.finish);
  });
  const promptExecutor = scriptedModel(["certainly"]);
  return new AIAgent({ id: "a", promptExecutor, llmModel: "m", strategy: asks }).install(Persistence, {
    storage,
    ...(version === 1 && { migrations: [{ from: 0, to: 1, nodes: { gate: "ask" } }] }),
  });
}

describe("a migrated run", () => {
  beforeAll(async () => {
    await asking(0).run("go", { runId: "r" });
    const durable = persistence(asking(1)).agent("a");
    for (const { requestId } of await durable.getRequests()) await durable.answer(requestId, "yes");
    await asking(1).resume();
  });

  it("replays exactly with the code of its last version", async () => {
    const replayed = await replayRun(asking(1), { storage, agentId: "a" });
    expect(replayed).toMatchObject({ matches: true, output: "go first certainly yes!" });
  });

  it("diverges at a changed output", async () => {
    const { matches, divergence } = await replayRun(asking(1, "?"), { storage, agentId: "a" });
    expect({ matches, divergence }).toMatchObject({
      matches: false,
      divergence: { what: "output", actual: "go first certainly yes?" },
    });
  });
});
