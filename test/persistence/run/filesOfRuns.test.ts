import { type AgentContext, persistence, strategy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import { requestsOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { memory } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";

const files = {
  key: "files",
  tools: [],
  plan: async () => ({ steps: [] }),
  apply: async () => undefined,
  describe: () => ({ subject: "", change: "" }),
};

/**
 * Creates a file in each of its two nodes. The input "ask" makes a request between them, and "back to <checkpoint id>"
 * makes a rollback.
 */
const editing = strategy<string, string>("editing", (g) => {
  const create = (path: string, context: AgentContext) =>
    persistence(context).note({ key: "files", value: { changes: [{ path, after: { kind: "link", target: path } }] } });
  const first = g.node("first", async (input: string, context: AgentContext) => {
    create(`${input}-1`, context);
    return input;
  });
  const second = g.node("second", async (input: string, context: AgentContext) => {
    if (input === "ask") await context.requestInput({ prompt: "ok?", schema: z.boolean() });
    const [, checkpointId] = input.split("back to ");
    if (checkpointId !== undefined) await persistence(context).rollbackToCheckpoint(checkpointId);
    create(`${input}-2`, context);
    return input;
  });
  g.edge(g.start, first);
  g.edge(first, second);
  g.edge(second, g.finish);
});

async function editor() {
  const storage = (await memory.open())() as LogPersistenceStorageProvider;
  const agent = durableAgent(editing, storage, { participants: [files] });
  const durable = persistence(agent).agent("a");
  /** Returns the files that the last finished run changed. */
  const changed = async () => {
    const ends = (await recordsOf(storage)).filter((record) => "files" in record);
    return (ends.at(-1) as { files?: unknown }).files;
  };
  /** Returns the checkpoint of a run before its second node. */
  const middleOf = async (runId: string) => {
    const points = (await durable.getCheckpoints()).filter((point) => point.runId === runId);
    return points.find(({ nodeId }) => nodeId === "second")?.checkpointId ?? "none";
  };
  return { storage, agent, durable, changed, middleOf };
}

it("a resumed run lists its changed files, also after a name or a note between two runs", async () => {
  for (const between of ["nothing", "name", "note"]) {
    const { agent, durable, changed } = await editor();
    await agent.run("old");
    const { checkpointId = "" } = (await durable.getLatestCheckpoint()) ?? {};
    if (between === "name") await durable.nameCheckpoint(checkpointId, "good");
    if (between === "note") await durable.note({ key: "x", value: 1 });
    const [request] = requestsOf(await agent.run("ask"));
    await agent.resume({ answers: { [request?.requestId ?? ""]: true } });
    expect(await changed()).toEqual(["ask-1", "ask-2"]);
  }
});

it("a run that a rollback reopens lists its changed files", async () => {
  const { agent, durable, changed, middleOf } = await editor();
  for (const name of ["a", "b", "c"]) await agent.run(name, { runId: name });
  await durable.rollbackToCheckpoint(await middleOf("b"));
  await agent.resume();
  expect(await changed()).toEqual(["b-1", "b-2"]);
});

it("a run that rolls back to an earlier run lists the changed files of that run", async () => {
  const { agent, changed, middleOf } = await editor();
  await agent.run("a", { runId: "a" });
  await agent.run(`back to ${await middleOf("a")}`);
  expect(await changed()).toEqual(["a-1", "a-2"]);
});

it("a run that a redo reopens after two branches lists its changed files", async () => {
  const { agent, durable, changed, middleOf } = await editor();
  await agent.run("a", { runId: "a" });
  await agent.run("b", { runId: "b" });
  const checkpointId = await middleOf("a");
  await agent.resume({ checkpointId });
  expect(await changed()).toEqual(["a-2"]);
  await agent.resume({ checkpointId });
  await durable.rollbackToCheckpoint(await middleOf("b"));
  await agent.resume();
  expect(await changed()).toEqual(["b-1", "b-2"]);
});
