import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type AgentContext, persistence, RollbackToolRegistry, storageKey } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readPaced } from "../../../src/storage/readEntries.ts";
import { gate } from "../../agent/gate.ts";
import { asking } from "../support/asking.ts";
import { chain } from "../support/calledAgents.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { NotebookParticipant } from "../support/NotebookParticipant.ts";
import { file, logStorages } from "../support/storages.ts";
import { World } from "../support/World.ts";

const question = { prompt: "ok?", schema: z.boolean() };
const large = storageKey("large", z.string());

/** A record, as far as these tests look at it. */
interface Shown {
  readonly kind: string;
  readonly move?: string;
}

describe.each(logStorages)("$name: a fork", (storage) => {
  it("starts with one append that records its origin, with a generation above all copied ones", async () => {
    const opened = await storage.open();
    const built = asking(async (input, context) => `${input} ${await context.requestInput(question)}`);
    const agent = () => durableAgent(built, opened());
    await agent().run("go");
    const durable = persistence(agent()).agent("a");
    const [request] = await durable.getRequests();
    await durable.answer(request?.requestId ?? "", true);
    await agent().resume();
    const before = await readPaced(opened().log, "a");
    const [first, ...rest] = await durable.getCheckpoints();
    for (const [id, version, options] of [
      ["b", rest.at(-1)?.version, {}],
      ["c", first?.version, { checkpointId: first?.checkpointId }],
    ] as const) {
      await durable.fork(id, options);
      const entries = await readPaced(opened().log, id);
      const copied = before.slice(0, entries.length - 1);
      const added = entries.at(-1);
      expect(entries.slice(0, -1)).toEqual(copied);
      expect(added?.generation).toBeGreaterThan(Math.max(...copied.map(({ generation }) => generation)));
      const { position = 0, checksum = "" } = copied.at(-1) ?? {};
      const records = (added?.records ?? []) as readonly Shown[];
      expect(records.filter(({ kind }) => kind === "origin")).toMatchObject([
        { agentId: "a", version, position, checksum },
      ]);
      const checkpoints = records.filter(({ kind }) => kind === "checkpoint");
      // A run that has ended has no new lines.
      expect(checkpoints.map(({ move }) => move)).toEqual(id === "b" ? [] : ["fork"]);
    }
  });

  it("has a separate owner and is not stopped with the agent", async () => {
    const opened = await storage.open();
    const provider = opened();
    const [began, slow] = [gate<void>(), gate<void>()];
    let runs = 0;
    const built = asking(async (input) => {
      if (++runs > 1) return input;
      began.open();
      await slow.opened;
      return input;
    });
    const agent = () => durableAgent(built, provider);
    const running = agent().run("go");
    await began.opened;
    await provider.log.requestStop("a", "enough");
    const fork = await persistence(agent()).agent("a").fork("b");
    expect(await provider.log.owner("b")).toBeUndefined();
    expect(await agent().resume({ agentId: fork.agentId })).toMatchObject({ output: "go" });
    slow.open();
    await running.catch(() => undefined);
  });

  it("rolls back past its origin without notes of the agent for participants", async () => {
    const opened = await storage.open();
    const notebook = new NotebookParticipant(new Map());
    const write = (page: string) => async (text: string, context: AgentContext) => {
      await context.tools.call(notebook.write, { page, text: "written" });
      return text;
    };
    const built = chain("three", {
      one: write("one"),
      ask: async (text, context) => `${text} ${await context.requestInput(question)}`,
      two: write("two"),
    });
    const agent = () => durableAgent(built, opened(), { tools: notebook.tools, participants: [notebook] });
    await agent().run("go");
    const durable = persistence(agent()).agent("a");
    const [first] = await durable.getCheckpoints();
    const fork = await durable.fork("b");
    const [request] = await fork.getRequests();
    await fork.answer(request?.requestId ?? "", true);
    expect(await agent().resume({ agentId: "b" })).toMatchObject({ output: "go true" });
    const report = await fork.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(report.participants).toMatchObject([{ steps: [{ subject: "two" }] }]);
    expect([...notebook.pages]).toEqual([
      ["one", "written"],
      ["two", ""],
    ]);
    await durable.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(notebook.pages.get("one")).toBe("");
  });

  it("excludes the agent's calls from its effects, doubts, settlements and pruning", async () => {
    const opened = await storage.open();
    const world = new World();
    const book = world.adder("book");
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      world.remove(toolCallId, item),
    );
    const built = chain("two", {
      one: async (text, context) => {
        if (world.items.length === 0) await context.tools.call(book, { item: text });
        return text;
      },
      two: (text) => text,
    });
    const agent = () => durableAgent(built, opened(), { tools: [book], registry });
    await agent().run("go");
    const fork = await persistence(agent()).agent("a").fork("b");
    const [first] = await fork.getCheckpoints();
    const [call = ""] = world.executed;
    await expect(fork.settleToolCall(call, "retry")).rejects.toMatchObject({ code: "tool_call_not_in_doubt" });
    expect(await fork.getToolCallsInDoubt()).toEqual([]);
    const result = await agent().resume({ agentId: "b", checkpointId: first?.checkpointId ?? "" });
    expect(result).toMatchObject({ status: "completed" });
    expect("effects" in result).toBe(false);
    const original = await agent().resume({ agentId: "a", checkpointId: first?.checkpointId ?? "" });
    expect(original).toMatchObject({ effects: { remaining: [{ toolCallId: call }] } });
    await persistence(agent()).prune({ agentId: "b", policy: { maxCheckpoints: 2 } });
    await agent().run("on", { agentId: "b" });
    const checkpoints = await fork.getCheckpoints();
    const report = await fork.rollbackToCheckpoint(checkpoints[0]?.checkpointId ?? "");
    expect(report.reverted).toEqual([]);
    expect(world.items).toEqual(["go"]);
  });
});

it("a fork in files shares blobs with the agent by links, which take no space", async () => {
  const opened = await file.open();
  const provider = opened();
  const agent = durableAgent(
    asking(async (input, context) => {
      context.storage.set(large, randomBytes(30_000).toString("hex"));
      return input;
    }),
    provider,
  );
  await agent.run("go");
  await persistence(agent).agent("a").fork("b");
  const { folder = "" } = provider.log.capabilities;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  const blobs = files.filter((name) => name.includes("blobs/")).map((name) => statSync(name));
  expect(blobs).toHaveLength(2);
  expect(new Set(blobs.map(({ ino }) => ino)).size).toBe(1);
});
