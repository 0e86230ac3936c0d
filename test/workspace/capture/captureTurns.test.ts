import { join } from "node:path";
import { writeFileSync } from "node:fs";
import {
  AIAgent,
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  strategy,
  tool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { expect, it } from "vitest";
import { z } from "zod";
import { temporaryFolder, treeOf } from "../fixture.ts";

it("captured commands of parallel branches run in turn, record only their changes and roll back", async () => {
  const root = temporaryFolder();
  writeFileSync(join(root, "shared"), "");
  const start = treeOf(root);
  const storage = new InMemoryPersistenceStorageProvider();
  let running = 0;
  const build = () => {
    const workspace = new Workspace({ root });
    const run = tool({
      name: "run",
      description: "",
      inputSchema: z.object({ name: z.string() }),
      effect: "idempotent",
      execute: ({ name }, { context }) =>
        workspace.capture(context, async () => {
          expect(++running).toBe(1);
          // A command within a command has the turn already.
          await workspace.capture(context, () => writeFileSync(join(root, name), name));
          running--;
        }),
    });
    const built = strategy<string, number>("turns", (graph) => {
      const work = graph.node("work", (name: string, context: AgentContext) => context.tools.call(run, { name }));
      const all = graph.each("all", work, (results) => results.length);
      graph.edge(graph.start, all, { map: (text: string) => text.split(" ") });
      graph.edge(all, graph.finish);
    });
    const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), tools: [run], strategy: built });
    return agent.install(Persistence, { storage, participants: [workspace] });
  };
  expect(await build().run("a b c d e")).toMatchObject({ output: 5 });
  const saved = persistence(build()).agent();
  const ends = (await saved.getCheckpoints()).filter(({ branch, status }) => branch && status === "completed");
  expect(ends.map(({ branch, fileChanges }) => [branch, fileChanges.created.map(({ path }) => path)])).toEqual(
    ["a", "b", "c", "d", "e"].map((name, at) => [`all#${at}`, [name]]),
  );
  const [first] = await saved.getCheckpoints();
  await saved.rollbackToCheckpoint(first?.checkpointId ?? "none");
  expect(treeOf(root)).toEqual(start);
});
