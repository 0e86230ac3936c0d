import { OwnershipLostError, persistence, strategy, tool } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import type { ProcessIdentity } from "../../../src/nodejs/ProcessIdentity.ts";
import { collect, TestMachine, testDirectory } from "../../storage/file/support/fixture.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { checkpointsOf } from "../support/stored.ts";

/** Thirty steps; `at` is called in the tenth. */
const thirtySteps = (at: () => Promise<void>) => {
  let step = 0;
  return strategy<string, string>("thirty", (graph) => {
    const node = graph.node("node", async (input: string) => {
      if (++step === 10) await at();
      return input;
    });
    graph.edge(graph.start, node);
    graph.edge(node, node, { when: () => step < 30 });
    graph.edge(node, graph.finish, { when: () => step >= 30 });
  });
};

it("a deleted agent is not restored by a late writer, which gets a typed error", async () => {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const [first, second] = [machine.start(), machine.start()];
  const provider = (processIdentity: ProcessIdentity) =>
    new FilePersistenceStorageProvider({ directory, processIdentity });
  const graph = thirtySteps(async () => {
    // It is taken for ended and is not.
    machine.end(first);
    await persistence(durableAgent(graph, provider(second))).deleteAgent("a");
  });
  await expect(durableAgent(graph, provider(first)).run("go")).rejects.toBeInstanceOf(OwnershipLostError);
  const after = durableAgent(graph, provider(second));
  expect(await checkpointsOf(after)).toEqual([]);
  expect(await collect(provider(second).log.list())).toEqual([]);
  expect(await collect(persistence(after).unfinished({ includeFailed: true }))).toEqual([]);
});

it("a pruned agent without its state.json is listed as before", async () => {
  const directory = await testDirectory();
  const opened = () => new FilePersistenceStorageProvider({ directory });
  const agent = durableAgent(
    thirtySteps(async () => {}),
    opened(),
  );
  await agent.run("go");
  const before = await collect(opened().log.list());
  expect((await persistence(agent).prune()).pruned).toHaveLength(1);
  const files = (await readdir(directory, { recursive: true })).filter((path) => path.endsWith("state.json"));
  expect(files).toHaveLength(1);
  for (const file of files) await rm(join(directory, file));
  const stable = (summaries: typeof before) =>
    summaries.map(({ agentId, status, order, runId, createdAt }) => ({ agentId, status, order, runId, createdAt }));
  expect(stable(await collect(opened().log.list()))).toEqual(stable(before));
  expect(await collect(opened().log.list({ status: "completed" }))).toHaveLength(1);
});

it("a tool call of a new agent with a deleted agent's id and runId has another id", async () => {
  const directory = await testDirectory();
  const ids: string[] = [];
  const note = tool({
    name: "note",
    description: "notes",
    inputSchema: z.object({}),
    execute: (_input, { toolCallId }) => ids.push(toolCallId),
  });
  const graph = strategy<string, string>("one", (builder) => {
    const node = builder.node("node", async (input: string, context) => {
      await context.tools.call(note, {});
      return input;
    });
    builder.edge(builder.start, node);
    builder.edge(node, builder.finish);
  });
  const agent = () => durableAgent(graph, new FilePersistenceStorageProvider({ directory }), { tools: [note] });
  for (let life = 0; life < 3; life++) {
    await agent().run("go", { runId: "same" });
    await agent().run("go", { runId: "same" });
    await persistence(agent()).deleteAgent("a");
  }
  expect(new Set(ids).size).toBe(3);
});
