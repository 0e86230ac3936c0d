import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { expect, it } from "vitest";

/** An agent whose first node saves two checkpoints at once. */
function stepping(storage: InMemoryPersistenceStorageProvider) {
  const steps = strategy<string, string>("steps", (graph) => {
    const one = graph.node("one", async (input: string, context) => {
      const output = `${input} one`;
      const bound = persistence(context);
      await Promise.all([bound.createCheckpoint(), bound.createCheckpoint({ nodeId: "two", lastInput: output })]);
      return output;
    });
    const two = graph.node("two", async (input: string) => `${input} two`);
    graph.edge(graph.start, one);
    graph.edge(one, two);
    graph.edge(two, graph.finish);
  });
  const agent = new AIAgent({
    id: "a",
    llmModel: "none",
    promptExecutor: { execute: () => Promise.reject(new Error("No model is asked.")) },
    strategy: steps,
  });
  return agent.install(Persistence, { storage });
}

it("refuses a copy from the earlier of two checkpoints in one append, which a fork can start from", async () => {
  const [source, target] = [new InMemoryPersistenceStorageProvider(), new InMemoryPersistenceStorageProvider()];
  await stepping(source).run("go");
  const checkpoints = await persistence(stepping(source)).agent().getCheckpoints();
  const [, earlier, later] = checkpoints.map(({ checkpointId }) => checkpointId);
  for await (const { position, records } of source.log.read("a"))
    if (position === 2) expect(records).toMatchObject([{ version: 2 }, { version: 3 }]);
  const from = (fromCheckpoint = "none") => exportAgent(source, "a", { fromCheckpoint });
  await expect(importAgent(target, from(earlier))).rejects.toMatchObject({ code: "invalid_archive" });
  await importAgent(target, from(earlier), { agentId: "b" });
  await importAgent(target, from(later));
  const there = stepping(target);
  expect(await persistence(there).agent("b").getLatestCheckpoint()).toMatchObject({ nodeId: "one", lastInput: "go" });
  expect(await persistence(there).agent().getLatestCheckpoint()).toMatchObject({ nodeId: "two" });
  expect(await there.resume({ takeOver: true })).toMatchObject({ output: "go one two" });
});
