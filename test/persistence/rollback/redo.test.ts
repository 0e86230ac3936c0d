import { describe, expect, it } from "vitest";
import {
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  type AgentContext,
  type AIAgent,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { exportAgent, finishMove, importAgent } from "agent-persistence/transfer";
import { inspect } from "agent-persistence/inspect";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { NotebookParticipant } from "../support/NotebookParticipant.ts";
import { logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const names = ["one", "two", "three"] as const;

/** An agent that books an item at each of three nodes, says so, and counts; a rollback takes the bookings back. */
function trip(world: World, storage: PersistenceStorageProvider, last?: (context: AgentContext) => Promise<unknown>) {
  const book = world.adder("book", "irreversible");
  const mail = world.adder("mail", "irreversible");
  const registry = new RollbackToolRegistry().registerRollback(
    book,
    ({ item }, { toolCallId }) => world.remove(toolCallId, item),
    { effect: "idempotent" },
  );
  const graph = strategy<string, string>("trip", (g) => {
    const nodes = names.map((name) =>
      g.node(name, async (input: string, context: AgentContext) => {
        await context.tools.call(book, { item: name });
        context.llm.append({ role: "user", content: name });
        if (name === "two") await context.tools.call(mail, { item: "card" });
        if (name === "three") await last?.(context);
        return input;
      }),
    );
    g.edge(g.start, nodes[0] as never);
    g.edge(nodes[0] as never, nodes[1] as never);
    g.edge(nodes[1] as never, nodes[2] as never);
    g.edge(nodes[2] as never, g.finish as never);
  });
  const agent = durableAgent(graph, storage, { tools: [book, mail], registry });
  return { agent, saved: persistence(agent).agent() };
}

async function idsOf(agent: AIAgent<string, string>): Promise<readonly string[]> {
  return (await persistence(agent).agent().getCheckpoints()).map(({ checkpointId }) => checkpointId);
}

const idsOfCalls = (calls: readonly { readonly toolCallId: string }[]) => calls.map(({ toolCallId }) => toolCallId);

const itemsOf = (calls: readonly { readonly input: unknown }[]) =>
  calls.map(({ input }) => (input as { readonly item: string }).item);

describe.each(logStorages)("a redo, $name", ({ open }) => {
  it("goes to a checkpoint that a rollback left, and lists the calls that stay reverted", async () => {
    const world = new World();
    const opened = await open();
    const { agent, saved } = trip(world, opened());
    await agent.run("go");
    const ids = await idsOf(agent);
    const [first = "", , third = ""] = ids;
    const messages = (await saved.getCheckpoints())[2]?.messageHistory;
    await saved.rollbackToCheckpoint(first);
    expect(world.items).toEqual(["card"]);

    const preview = await inspect(opened()).previewRollback("a", third);
    const report = await saved.rollbackToCheckpoint(third);

    expect(report).toMatchObject({ checkpointId: third, commonAncestorId: first, reverted: [], failed: [] });
    expect(itemsOf(report.stayedReverted)).toEqual(["two", "one"]);
    expect(preview).toMatchObject({ commonAncestorId: first, target: { checkpointId: third }, revert: [] });
    expect(idsOfCalls(preview.stayedReverted)).toEqual(idsOfCalls(report.stayedReverted));
    expect(await saved.getMessages()).toEqual(messages);
    expect(world.items).toEqual(["card"]);
    expect(await saved.rollbackToCheckpoint(third)).toEqual(report);
    expect(await agent.resume()).toMatchObject({ output: "go" });
    expect(world.items).toEqual(["card", "three"]);
  });

  it("reverts the calls since the common ancestor once each", async () => {
    const world = new World();
    const { agent, saved } = trip(world, (await open())());
    await agent.run("go");
    const ids = await idsOf(agent);
    const end = ids.at(-1) ?? "";
    await saved.rollbackToCheckpoint(ids[1] ?? "");
    await agent.resume();
    const again = (await saved.getLatestCheckpoint())?.checkpointId ?? "";
    expect(world.items).toEqual(["card", "card", "one", "three", "two"]);
    const redone = await saved.rollbackToCheckpoint(end);
    expect([itemsOf(redone.reverted), itemsOf(redone.irreversible)]).toEqual([["three", "two"], ["card"]]);
    expect(itemsOf(redone.stayedReverted)).toEqual(["three", "two"]);
    const undone = await saved.rollbackToCheckpoint(again);
    expect([itemsOf(undone.reverted), itemsOf(undone.stayedReverted)]).toEqual([[], ["three", "two"]]);
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    expect(world.items).toEqual(["card", "card"]);
    expect(world.undone).toHaveLength(new Set(world.undone).size);
  });

  it("across runs finishes them again", async () => {
    const world = new World();
    const opened = await open();
    const { agent, saved } = trip(world, opened());
    await agent.run("first", { runId: "r1" });
    await agent.run("second", { runId: "r2" });
    const inSecond = (await saved.getCheckpoints()).filter(({ runId }) => runId === "r2")[1]?.checkpointId ?? "";
    await saved.rollbackToCheckpoint((await idsOf(agent))[1] ?? "");
    await agent.resume();
    await saved.rollbackToCheckpoint(inSecond);
    const next = trip(world, opened());
    const booked = world.done.length;
    await expect(next.agent.run("first", { runId: "r1" })).resolves.toMatchObject({ runId: "r1", output: "first" });
    expect(world.done).toHaveLength(booked);
    await expect(next.agent.resume()).resolves.toMatchObject({ runId: "r2", output: "second" });
    await expect(next.agent.run("second", { runId: "r2" })).resolves.toMatchObject({ output: "second" });
  });

  it("goes to a checkpoint that a branch left, whose effects remain", async () => {
    const world = new World();
    const { agent, saved } = trip(world, (await open())());
    await agent.run("go");
    const ids = await idsOf(agent);
    await agent.resume({ checkpointId: ids[1] ?? "" });
    const report = await saved.rollbackToCheckpoint(ids[2] ?? "");
    expect(itemsOf(report.reverted)).toEqual(["three", "two", "three"]);
    expect(report.stayedReverted).toEqual([]);
    expect(world.items).toEqual(["card", "card", "one", "two"]);
  });

  it("is refused inside a run, with a hint", async () => {
    const world = new World();
    const errors: unknown[] = [];
    let left = "";
    const { agent, saved } = trip(world, (await open())(), async (context) => {
      const move = left === "" ? undefined : persistence(context).rollbackToCheckpoint(left);
      await move?.catch((error: unknown) => errors.push(error));
    });
    await agent.run("go");
    const ids = await idsOf(agent);
    left = ids[2] ?? "";
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    await agent.resume();
    expect(errors).toMatchObject([{ code: "not_an_ancestor", checkpointId: left }]);
    expect((errors[0] as Error).message).toContain("A run cannot roll back");
  });

  it("works in a fork without restoring changes of the agent", async () => {
    const world = new World();
    const { agent, saved } = trip(world, (await open())());
    await agent.run("go");
    const ids = await idsOf(agent);
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    const fork = await saved.fork("b");
    const report = await fork.rollbackToCheckpoint(ids[2] ?? "");
    expect(report.stayedReverted.map(({ owner }) => owner)).toEqual(["a", "a"]);
    expect(await agent.resume({ agentId: "b" })).toMatchObject({ output: "go" });
    expect(world.items).toEqual(["card", "three"]);
    await fork.rollbackToCheckpoint(ids[0] ?? "");
    expect(world.items).toEqual(["card"]);
  });

  it("works after an export and import, even if it was interrupted", async () => {
    const world = new World();
    const [source, target] = [(await open())(), (await open())()];
    const { agent, saved } = trip(world, source);
    await agent.run("go");
    const ids = await idsOf(agent);
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    const crashing = trip(world, crashAfter(source, 1));
    await expect(crashing.saved.rollbackToCheckpoint(ids[2] ?? "")).rejects.toThrow("crash");
    const { receipt } = await importAgent(target, exportAgent(source, "a", { move: true }));
    await finishMove(source, "a", receipt);
    const there = trip(world, target);
    expect(await there.agent.resume()).toMatchObject({ output: "go" });
    expect(world.items).toEqual(["card", "three"]);
    await there.saved.rollbackToCheckpoint(ids[0] ?? "");
    const report = await there.saved.rollbackToCheckpoint(ids[1] ?? "");
    expect(itemsOf(report.stayedReverted)).toEqual(["one"]);
    expect(world.items).toEqual(["card"]);
  });

  it("refuses a pruned checkpoint", async () => {
    const world = new World();
    const { agent, saved } = trip(world, (await open())());
    await agent.run("go");
    const ids = await idsOf(agent);
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    await persistence(agent).prune({ policy: { maxCheckpointsPaused: 2 } });
    const left = new Set(await idsOf(agent));
    const gone = ids.find((id) => !left.has(id)) ?? "";
    await expect(saved.rollbackToCheckpoint(gone)).rejects.toMatchObject({ code: "checkpoint_not_found" });
  });

  it("keeps its restored history through a pruning", async () => {
    const world = new World();
    const { agent, saved } = trip(world, (await open())());
    await agent.run("go");
    const ids = await idsOf(agent);
    await saved.rollbackToCheckpoint(ids[1] ?? "");
    await saved.rollbackToCheckpoint(ids.at(-1) ?? "");
    await persistence(agent).prune({ policy: { maxCheckpointsPaused: 2 } });
    expect(await idsOf(agent)).toContain(ids[1]);
    const report = await saved.rollbackToCheckpoint(ids[0] ?? "");
    expect(itemsOf(report.reverted)).toEqual(["one"]);
    expect(world.undone).toHaveLength(new Set(world.undone).size);
  });
});

it.each(logStorages)(
  "a redo is read completely if its common ancestor is before the newest snapshot, $name",
  async ({ open }) => {
    const opened = await open();
    let times = 0;
    const graph = strategy<string, string>("s", (g) => {
      const one = g.node("one", async (input: string, context: AgentContext) => {
        for (let key = 0; input === "big" && key < 15; key++)
          context.storage.set(storageKey(`large ${key}`, z.string()), "x".repeat(9_900));
        return input;
      });
      const two = g.node("two", async (input: string) => `${input} ${++times}`);
      g.edge(g.start, one);
      g.edge(one, two);
      g.edge(two, g.finish);
    });
    const agent = () => durableAgent(graph, opened());
    const run = (input: string, runId: string) => agent().run(input, { runId });
    await run("first", "r1");
    await run("big", "r2");
    await run("third", "r3");
    const saved = persistence(agent()).agent();
    const checkpoints = await saved.getCheckpoints();
    const target = checkpoints.filter(({ runId }) => runId === "r3").at(-2)?.checkpointId ?? "";
    await saved.rollbackToCheckpoint(checkpoints[1]?.checkpointId ?? "");
    await agent().resume();
    await run("fourth", "r4");
    await saved.rollbackToCheckpoint(target);
    const kinds: string[] = [];
    for await (const { records } of opened().log.read("a", { sinceSnapshot: true }))
      kinds.push(...records.map(({ kind }) => kind));
    expect(kinds.filter((kind) => ["snapshot", "rollback_end"].includes(kind))).toEqual([
      "snapshot",
      "rollback_end",
      "rollback_end",
    ]);
    await expect(run("fourth", "r4")).rejects.toMatchObject({ code: "unfinished_run", runId: "r3" });
    await expect(run("first", "r1")).resolves.toMatchObject({ output: "first 1" });
    await expect(run("big", "r2")).resolves.toMatchObject({ output: "big 2" });
  },
);

describe("an interrupted redo", () => {
  /** At the end of a second way from its second checkpoint; the first way leads to `end`. */
  async function twoWays(storage: LogPersistenceStorageProvider) {
    const world = new World();
    const { agent, saved } = trip(world, storage);
    await agent.run("go");
    const ids = await idsOf(agent);
    await saved.rollbackToCheckpoint(ids[1] ?? "");
    await agent.resume();
    return { world, ids, end: ids.at(-1) ?? "" };
  }

  describe.each(logStorages)("$name", ({ open }) => {
    it.each(Array.from({ length: 7 }, (_, saves) => saves))(
      "is finished after a crash, after %i saves",
      async (saves) => {
        const opened = await open();
        const { world, ids, end } = await twoWays(opened());
        const crashing = trip(world, crashAfter(opened(), saves));
        await crashing.saved.rollbackToCheckpoint(end).catch(() => undefined);
        const { agent, saved } = trip(world, opened());
        await agent.resume().catch((error: unknown) => {
          if ((error as { readonly code?: string }).code !== "nothing_to_resume") throw error;
        });
        const { items } = world;
        expect(items).toEqual(saves === 0 ? ["card", "card", "one", "three", "two"] : ["card", "card", "one"]);
        const report = await saved.rollbackToCheckpoint(ids[0] ?? "");
        expect(report.commonAncestorId).toBeUndefined();
        expect(world.items).toEqual(["card", "card"]);
      },
    );

    it("is finished before a rollback to another checkpoint, and refuses another redo", async () => {
      const opened = await open();
      const { world, ids, end } = await twoWays(opened());
      const again = (await idsOf(trip(world, opened()).agent)).at(-1) ?? "";
      const crashing = trip(world, crashAfter(opened(), 2));
      await crashing.saved.rollbackToCheckpoint(end).catch(() => undefined);
      const { saved } = trip(world, opened());
      await expect(saved.rollbackToCheckpoint(again)).rejects.toMatchObject({ code: "not_an_ancestor" });
      const report = await saved.rollbackToCheckpoint(ids[2] ?? "");
      expect(report.checkpointId).toBe(ids[2]);
      expect(world.items).toEqual(["card", "card", "one"]);
    });
  });
});

describe("redo participants", () => {
  const turns = [
    { toolCalls: [{ toolName: "write", input: { page: "p", text: "1" } }] },
    { toolCalls: [{ toolName: "write", input: { page: "p", text: "2" } }] },
    "done",
  ];

  it("that cannot redo are named in the report, and their notes stay reverted", async () => {
    const pages = new Map<string, string>();
    const [{ open } = { open: undefined }] = logStorages;
    const storage = (await open?.())?.() as LogPersistenceStorageProvider;
    const notebook = new NotebookParticipant(pages);
    const graph = undefined as never;
    const agent = durableAgent(graph, storage, { turns, tools: notebook.tools, participants: [notebook] });
    await agent.run("go");
    const saved = persistence(agent).agent();
    const ids = await idsOf(agent);
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    const report = await saved.rollbackToCheckpoint(ids.at(-1) ?? "");
    expect(report.participants).toEqual([
      { key: "notebook", steps: [{ subject: "notebook", change: "not restored: the participant has no planRedo" }] },
    ]);
    expect(pages.get("p")).toBe("");
    await saved.rollbackToCheckpoint(ids[0] ?? "");
    expect(notebook.asked.filter((asked) => asked.startsWith("plan"))).toHaveLength(1);
  });
});
