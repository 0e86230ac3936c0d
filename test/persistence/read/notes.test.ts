import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  strategy,
} from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { logStorages, RowsProvider } from "../support/storages.ts";

const large = "x".repeat(100_000);

/** Notes its input under "diary" in its only node. */
function diarist(storage: PersistenceStorageProvider, seen: unknown[] = []) {
  const plan = strategy<string, string>("s", (graph) => {
    const node = graph.node("n", async (text: string, context) => {
      persistence(context).note({ key: "diary", value: { text } });
      seen.push(...(await persistence(context).getNotes("diary")));
      return text;
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const agent = new AIAgent({ id: "a", promptExecutor: scriptedModel([]), llmModel: "m", strategy: plan });
  agent.install(Persistence, { storage });
  return { agent, saved: persistence(agent).agent() };
}

describe.each(logStorages)("notes, $name", ({ open }) => {
  it("are read back in the run, from outside, and in another process", async () => {
    const opened = await open();
    const seen: unknown[] = [];
    const { agent, saved } = diarist(opened(), seen);
    await agent.run("first");
    await saved.note({ key: "diary", value: large });
    await saved.note({ key: "other", value: 1 });
    expect(seen).toEqual([{ text: "first" }]);
    const again = diarist(opened()).saved;
    expect(await again.getNotes("diary")).toEqual([{ text: "first" }, large]);
    expect(await again.getNotes("nothing")).toEqual([]);
  });

  it("disappear with a rollback to an earlier checkpoint and with the next run", async () => {
    const opened = await open();
    const { agent, saved } = diarist(opened());
    await agent.run("first");
    await saved.note({ key: "diary", value: large });
    const [start] = await saved.getCheckpoints();
    await saved.rollbackToCheckpoint(start?.checkpointId ?? "");
    expect(await saved.getNotes("diary")).toEqual([]);
    await agent.resume();
    await saved.note({ key: "diary", value: large });
    await persistence(agent).prune();
    expect(await diarist(opened()).saved.getNotes("diary")).toEqual([{ text: "first" }, large]);
    await agent.run("second");
    expect(await saved.getNotes("diary")).toEqual([{ text: "second" }]);
  });

  it("include those of branches, until a rollback to a checkpoint before the branches", async () => {
    const storage = (await open())();
    const plan = strategy<string, string>("s", (graph) => {
      const noting = (name: string) =>
        graph.node(name, async (text: string, context) => {
          persistence(context).note({ key: "diary", value: name });
          return text;
        });
      const both = graph.parallel("both", { left: noting("left"), right: noting("right") }, ({ left }) => left);
      const last = noting("last");
      graph.edge(graph.start, both);
      graph.edge(both, last);
      graph.edge(last, graph.finish);
    });
    const agent = new AIAgent({ id: "a", promptExecutor: scriptedModel([]), llmModel: "m", strategy: plan });
    const saved = persistence(agent.install(Persistence, { storage })).agent();
    await agent.run("go");
    expect(await saved.getNotes("diary")).toEqual(["left", "right", "last"]);
    const [start] = await saved.getCheckpoints();
    await saved.rollbackToCheckpoint(start?.checkpointId ?? "");
    expect(await saved.getNotes("diary")).toEqual([]);
  });
});

describe("notes", () => {
  it("are refused for a queued task, whose run has no lane yet", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await new TaskManager({ storage }).create({ taskId: "a", taskName: "t", inputRequest: "first" });
    const { agent, saved } = diarist(storage);
    await expect(saved.note({ key: "diary", value: 1 })).rejects.toMatchObject({ code: "checkpoint_not_found" });
    await agent.resume();
    await saved.note({ key: "diary", value: 2 });
    expect(await saved.getNotes("diary")).toEqual([{ text: "first" }, 2]);
  });

  it("require an agent that has run and a storage with a log", async () => {
    const { saved, agent } = diarist(new RowsProvider());
    await expect(saved.note({ key: "diary", value: 1 })).rejects.toMatchObject({ code: "checkpoint_not_found" });
    expect(await saved.getNotes("diary")).toEqual([]);
    await agent.run("first");
    expect(await saved.getNotes("diary")).toEqual([]);
  });
});
