import { type AgentContext, persistence, RollbackToolRegistry, strategy, tool } from "agent-persistence";
import type { RollbackParticipant } from "agent-persistence/feature";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { asking, idOf } from "../support/asking.ts";
import { CountedFiles } from "../support/CountedFiles.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { forgeConversation } from "../support/forgedConversation.ts";
import { memory } from "../support/storages.ts";
import { recordsOf } from "../support/stored.ts";

const book = tool({
  name: "book",
  description: "",
  inputSchema: z.string(),
  execute: async (seat) => `booked ${seat}`,
});
const booking = strategy<string, string>("booking", (graph) => {
  const first = graph.node("first", async (seat: string) => seat);
  const second = graph.node("second", async (seat: string, context) => {
    persistence(context).note({ key: "seats", value: seat });
    return context.tools.call(book, seat);
  });
  graph.edge(graph.start, first);
  graph.edge(first, second);
  graph.edge(second, graph.finish);
});

const participant = {
  key: "files",
  plan: async () => ({ steps: [] }),
  apply: async () => undefined,
  describe: () => ({ subject: "", change: "" }),
};

/** An agent with many runs, two of them after the newest snapshot. */
async function afterRuns(runs: number) {
  const files = await CountedFiles.create();
  await forgeConversation(files.open(), runs, { keep: "nothing" });
  const open = () => durableAgent(booking, files.open(), { tools: [book] });
  for (const seat of ["1A", "2B", "3C"]) await open().run(seat);
  return { files, next: () => persistence(open()).agent() };
}

test("the notes of the last run are read without the records of earlier runs", async () => {
  const [few, many] = [await afterRuns(10), await afterRuns(3_000)];
  const readNotes = async ({ next }: typeof few) => expect(await next().getNotes("seats")).toEqual(["3C"]);
  const { recordsRead: least } = await few.files.count(() => readNotes(few));
  const { recordsRead: most } = await many.files.count(() => readNotes(many));
  expect(most).toBeLessThan(least + 20);
});

test("a call in doubt of the last run is settled without the records of earlier runs", async () => {
  const settled = async (runs: number) => {
    const { files, next } = await afterRuns(runs);
    const cutShort = (saves: number) => crashAfter(files.open(), saves) as LogPersistenceStorageProvider;
    for (let saves = 3; (await next().getToolCallsInDoubt()).length === 0; saves++)
      await durableAgent(booking, cutShort(saves), { tools: [book] })
        .run("4D", { runId: `r${saves}`, unfinished: "abandon" })
        .catch(() => undefined);
    const [call] = await next().getToolCallsInDoubt();
    const counted = await files.count(() => next().settleToolCall(call?.toolCallId ?? "", { output: "by hand" }));
    expect(await durableAgent(booking, files.open(), { tools: [book] }).resume()).toMatchObject({ output: "by hand" });
    return counted.recordsRead;
  };
  expect(await settled(3_000)).toBeLessThan((await settled(10)) + 20);
});

test("a rollback to a checkpoint of the last run reads no records of earlier runs", async () => {
  const rolledBack = async (runs: number) => {
    const { files } = await afterRuns(runs);
    const undone: string[] = [];
    const registry = new RollbackToolRegistry().registerRollback(book, async (seat) => void undone.push(seat));
    const seats: RollbackParticipant = {
      ...participant,
      key: "seats",
      plan: async ({ notes }) => ({ steps: notes.map(({ value }) => value) }),
      apply: async (seat) => void undone.push(`seat ${String(seat)}`),
    };
    const open = () => durableAgent(booking, files.open(), { tools: [book], registry, participants: [seats] });
    const checkpoints = await persistence(open()).agent("a").getCheckpoints();
    const { checkpointId } = checkpoints.findLast(({ nodeId }) => nodeId === "second")!;
    const counted = await files.count(() => persistence(open()).agent("a").rollbackToCheckpoint(checkpointId));
    expect(undone).toEqual(["3C", "seat 3C"]);
    expect(await open().resume()).toMatchObject({ status: "completed", output: "booked 3C" });
    return counted.recordsRead;
  };
  expect(await rolledBack(3_000)).toBeLessThan((await rolledBack(10)) + 20);
});

test.each(["a rollback", "an execution point"])("%s inside a run reads no records of earlier runs", async (move) => {
  const moved = async (runs: number) => {
    const { files } = await afterRuns(runs);
    const undone: string[] = [];
    let isMoved = false;
    const registry = new RollbackToolRegistry().registerRollback(book, async (seat) => void undone.push(seat));
    const moving = strategy<string, string>("booking", (graph) => {
      const first = graph.node("first", async (seat: string) => seat);
      const second = graph.node("second", async (seat: string, context) => {
        const booked = await context.tools.call(book, seat);
        if (isMoved) return booked;
        isMoved = true;
        if (move !== "a rollback") return persistence(context).setExecutionPoint({ nodeId: "second", input: "5E" });
        const own = await persistence(context).getLatestCheckpoint();
        return persistence(context).rollbackToCheckpoint(own?.checkpointId ?? "");
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const agent = durableAgent(moving, files.open(), { tools: [book], registry });
    const counted = await files.count(() => agent.run("4D"));
    expect(undone).toEqual(move === "a rollback" ? ["4D"] : []);
    const { lastInput } = (await persistence(agent).agent("a").getLatestCheckpoint())!;
    expect(lastInput).toBe(move === "a rollback" ? "booked 4D" : "booked 5E");
    return counted.recordsRead;
  };
  expect(await moved(3_000)).toBeLessThan((await moved(10)) + 40);
});

test("a rollback of a participant finds a content that only records before the newest snapshot have", async () => {
  const bytes = Buffer.from("before");
  const hash = createHash("sha256").update(bytes).digest("hex");
  const keep = async (input: string, context: AgentContext) => {
    persistence(context).note({ key: "files", value: hash, contents: new Map([[hash, bytes]]) });
    return input;
  };
  const fill = async (input: string, context: AgentContext) => {
    for (let note = 0; note < 4_000; note++) persistence(context).note({ key: "other", value: "y".repeat(300) });
    return input;
  };
  const keeping = strategy<string, string>("keeping", (graph) => {
    const nodes = [graph.node("first", keep), graph.node("fill", fill), graph.node("second", keep)];
    for (const [at, node] of nodes.entries()) graph.edge(nodes[at - 1] ?? graph.start, node);
    graph.edge(nodes.at(-1)!, graph.finish);
  });
  const restored: unknown[] = [];
  const restoring: RollbackParticipant = {
    ...participant,
    plan: async ({ notes }) => ({ steps: notes.map(({ value }) => value) }),
    apply: async (step, { content }) => void restored.push(String(await content(String(step)))),
  };
  const files = await CountedFiles.create();
  const open = () => durableAgent(keeping, files.open(), { participants: [restoring] });
  await open().run("go");
  const outside = persistence(open()).agent("a");
  const { checkpointId } = (await outside.getCheckpoints()).findLast(({ nodeId }) => nodeId === "second")!;
  const recent = await AgentLog.read(files.open().log, "a", { sinceSnapshot: true });
  expect(recent.index.contents.has(hash)).toBe(false);
  await outside.rollbackToCheckpoint(checkpointId);
  expect(restored).toEqual(["before"]);
});

test("the changed files of a turn are read without the records of earlier turns", async () => {
  const changing = strategy<string, string>("changing", (graph) => {
    const change = graph.node("change", async (path: string, context) => {
      const changes = [{ path, after: { kind: "link", target: "x" } }];
      persistence(context).note({ key: "files", value: { changes } });
      return path;
    });
    graph.edge(graph.start, change);
    graph.edge(change, graph.finish);
  });
  const files = await CountedFiles.create();
  const agent = durableAgent(changing, files.open(), { participants: [participant] });
  const recordsRead: number[] = [];
  for (let turn = 0; turn < 40; turn++) {
    const counted = await files.count(() => agent.run(`${turn}.txt`, { history: "continue" }));
    recordsRead.push(counted.recordsRead);
  }
  const ends = (await recordsOf(files.open())).filter((record) => "files" in record);
  expect(ends.at(-1)).toMatchObject({ files: ["39.txt"] });
  expect(Math.max(...recordsRead)).toBeLessThan((recordsRead[1] ?? 0) + 20);
});

test("the changed files of a resumed run are read without the records of earlier runs", async () => {
  const changing = asking(async (path, context) => {
    const changes = [{ path, after: { kind: "link", target: "x" } }];
    persistence(context).note({ key: "files", value: { changes } });
    return String(await context.requestInput({ prompt: "?", schema: z.string() }));
  });
  const recordsReadAfter = async (runs: number) => {
    const { files } = await afterRuns(runs);
    const open = () => durableAgent(changing, files.open(), { participants: [participant] });
    const answers = { [idOf(await open().run("a.txt"))]: "yes" };
    const { recordsRead } = await files.count(() => open().resume({ answers }));
    const ends = (await recordsOf(files.open())).filter((record) => "files" in record);
    expect(ends).toMatchObject([{ files: ["a.txt"] }]);
    return recordsRead;
  };
  expect(await recordsReadAfter(3_000)).toBeLessThan((await recordsReadAfter(10)) + 20);
});

test("the changed files of a run omit those that a rollback over its start reverted before a redo", async () => {
  const files = await CountedFiles.create();
  await forgeConversation(files.open(), 3_000, { keep: "nothing" });
  let path = "first.txt";
  const changing = asking(async (_input, context) => {
    const changes = [{ path, after: { kind: "link", target: "x" } }];
    persistence(context).note({ key: "files", value: { changes } });
    return context.requestInput({ prompt: "?", schema: z.string() });
  });
  const agent = durableAgent(changing, files.open(), { participants: [participant] });
  await agent.run("go");
  const outside = persistence(agent).agent();
  const ids = (await outside.getCheckpoints()).map(({ checkpointId }) => checkpointId);
  await outside.rollbackToCheckpoint(ids.at(-2)!);
  await outside.rollbackToCheckpoint(ids.at(-1)!);
  path = "second.txt";
  await agent.resume({ answers: { [idOf(await agent.resume())]: "yes" } });
  const ends = (await recordsOf(files.open())).filter((record) => "files" in record);
  expect(ends).toMatchObject([{ files: ["second.txt"] }]);
});

test("a branch of the first saved node reads the notes of earlier nodes", async () => {
  let found: readonly unknown[] = [];
  const branching = strategy<string, string>("branching", (graph) => {
    const first = graph.node("first", async (input: string, context: AgentContext) => {
      persistence(context).note({ key: "seats", value: "1A" });
      for (let note = 0; note < 1_000; note++) persistence(context).note({ key: "other", value: "y".repeat(300) });
      return input;
    });
    const branch = graph.node("branch", async (input: string, context: AgentContext) => {
      found = await persistence(context).getNotes("seats");
      return input;
    });
    const both = graph.parallel("both", { branch }, () => "done");
    graph.edge(graph.start, first);
    graph.edge(first, both);
    graph.edge(both, graph.finish);
  });
  const storage = (await memory.open())();
  await durableAgent(branching, storage, { automatic: false }).run("go");
  expect(found).toEqual(["1A"]);
});
