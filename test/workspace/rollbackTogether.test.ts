import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { logStorages } from "../persistence/support/storages.ts";
import { Coder, temporaryFolder, treeOf, type Call } from "./fixture.ts";

describe.each(logStorages)("files, messages and effects, $name", ({ open }) => {
  it("roll back together inside a run", async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "a"), "start");
    const workspace = new Workspace({ root });
    const [write] = workspace.tools.filter(({ name }) => name === "write_file");
    let tried = 0;
    const plan = strategy<string, string>("s", (graph) => {
      const work = graph.node("work", async (text: string, context) => {
        const content = `${readFileSync(join(root, "a"), "utf8")}, ${text} ${++tried}`;
        await context.tools.call(write as never, { path: "a", content } as never);
        return content;
      });
      const judge = graph.node("judge", async (content: string, context) => {
        const [first] = await persistence(context).getCheckpoints();
        if (tried < 3) return persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "");
        return content;
      });
      graph.edge(graph.start, work);
      graph.edge(work, judge);
      graph.edge(judge, graph.finish);
    });
    const agent = new AIAgent({
      id: "a",
      llmModel: "m",
      promptExecutor: scriptedModel([]),
      strategy: plan,
      tools: workspace.tools,
    }).install(Persistence, { storage: (await open())(), participants: [workspace] });
    expect(await agent.run("try")).toMatchObject({ output: "start, try 3" });
    expect(treeOf(root)).toEqual({ a: "644 start, try 3" });
  });

  it("roll back past pruned checkpoints", async () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "a"), "start");
    const calls = Array.from({ length: 12 }, (_, at): Call => [
      "write_file",
      { path: at % 2 ? "a" : `f${at}`, content: `${at}` },
    ]);
    const coder = new Coder(calls, { root, storage: (await open())() });
    const before = treeOf(root);
    await coder.run();
    const { agent, saved } = coder.build();
    const all = (await saved.getCheckpoints()).length;
    await persistence(agent).prune({ policy: { maxCheckpoints: 3 } });
    const left = await saved.getCheckpoints();
    expect(left.length).toBeLessThan(all);
    expect(left.flatMap(({ fileChanges }) => fileChanges.created.map(({ path }) => path)).toSorted()).toEqual([
      "f0",
      "f10",
      "f2",
      "f4",
      "f6",
      "f8",
    ]);
    await saved.rollbackToCheckpoint(left[0]?.checkpointId ?? "");
    expect(treeOf(root)).toEqual(before);
  });
});
