import { join } from "node:path";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
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
import { gate } from "../../agent/gate.ts";
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

/** Runs an agent that captures one action. */
function capturing(root: string, action: (context: AgentContext) => unknown, signal?: AbortSignal): Promise<unknown> {
  const workspace = new Workspace({ root });
  const built = strategy<string, string>("capturing", (graph) => {
    const work = graph.node("work", async (text: string, context: AgentContext) => {
      await workspace.capture(context, () => action(context));
      return text;
    });
    graph.edge(graph.start, work);
    graph.edge(work, graph.finish);
  });
  const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: built });
  const storage = new InMemoryPersistenceStorageProvider();
  agent.install(Persistence, { storage, participants: [workspace] });
  return agent.run("go", { signal });
}

it("a capture waits for the running one after a waiting one was aborted", async () => {
  const root = temporaryFolder();
  const [started, end] = [gate(), gate()];
  let running = 0;
  const first = capturing(root, async () => {
    running++;
    started.open();
    await end.opened;
    running--;
  });
  await started.opened;
  const stop = new AbortController();
  const waiting = capturing(root, () => expect.unreachable(), stop.signal).catch((error: unknown) => error);
  // Requests of the second agent for its turn come before the abort.
  await capturing(temporaryFolder(), () => {});
  stop.abort(new Error("stopped"));
  expect(await waiting).toMatchObject({ message: "stopped" });
  const last = capturing(root, () => expect(running).toBe(0));
  await capturing(temporaryFolder(), () => {});
  end.open();
  await Promise.all([first, last]);
});

it("captures of directories that contain one another run in turn, by any path", async () => {
  const root = temporaryFolder();
  mkdirSync(join(root, "inner"));
  const link = join(temporaryFolder(), "link");
  symlinkSync(root, link);
  let running = 0;
  const alone = async () => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  await Promise.all([root, join(root, "inner"), link, join(link, "inner")].map((folder) => capturing(folder, alone)));
  // An agent within a command has the turn already.
  await capturing(join(root, "inner"), () => capturing(root, alone));
});

it("a run records the files of one root, so a rollback changes no file with the same path in another root", async () => {
  const root = temporaryFolder();
  const inner = join(root, "inner");
  mkdirSync(inner);
  writeFileSync(join(root, "same"), "a person's");
  const start = treeOf(root);
  const [outside, inside] = [new Workspace({ root }), new Workspace({ root: inner })];
  const built = strategy<string, string>("two roots", (graph) => {
    const work = graph.node("work", async (text: string, context: AgentContext) => {
      const write = () => writeFileSync(join(inner, "same"), "a person's");
      const nested = outside.capture(context, () => inside.capture(context, write));
      await expect(nested).rejects.toMatchObject({ code: "invalid_input" });
      await expect(nested).rejects.toThrow(root);
      return text;
    });
    graph.edge(graph.start, work);
    graph.edge(work, graph.finish);
  });
  const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: built });
  agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), participants: [outside] });
  await agent.run("go");
  const saved = persistence(agent).agent();
  const [first] = await saved.getCheckpoints();
  await saved.rollbackToCheckpoint(first?.checkpointId ?? "none");
  expect(treeOf(root)).toEqual(start);
});
