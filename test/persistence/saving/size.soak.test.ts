import {
  callModel,
  callTools,
  hasToolCalls,
  persistence,
  storageKey,
  strategy,
  textOf,
  tool,
  triggers,
} from "agent-persistence";
import { CheckpointTooLargeError } from "agent-persistence/errors";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { testDirectory } from "../../storage/file/support/fixture.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { checkpointsOf, recordsOf, restoredBy } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

const megabytes = (count: number, filler = "x") => filler.repeat(count * 1024 * 1024);
const kept = storageKey("dataset", z.string());
const other = storageKey("other", z.string());

/** The blobs that the records of agent "a" refer to. */
async function blobsOf(storage: LogPersistenceStorageProvider): Promise<ReadonlySet<string>> {
  const text = JSON.stringify(await recordsOf(storage));
  return new Set(text.match(/blob:\/\/[0-9a-f]+-\d+(?:\.gz)?/g) ?? []);
}

describe.each(logStorages)("$name: size limits", (storage) => {
  it("a 3 MB tool result is stored once for all checkpoints and snapshots that refer to it", async () => {
    const opened = await storage.open();
    const big = Array.from({ length: 30_000 }, (_, at) => `${at} `.padEnd(104, "."));
    const read = tool({
      name: "read",
      description: "",
      inputSchema: z.object({}),
      effect: "idempotent",
      execute: () => big,
    });
    const graph = strategy<string, string>("s", (g) => {
      const ask = g.node("callModel", callModel);
      const call = g.node("callTools", callTools);
      const chat = g.node("chat", (left: number, context) => {
        context.llm.rewrite((messages) => messages.slice(0, 3));
        context.llm.append({ role: "user", content: `${left} ${"y".repeat(9_000)}` });
        return left - 1;
      });
      g.edge(g.start, ask);
      g.edge(ask, call, { when: hasToolCalls });
      g.edge(call, ask);
      g.edge(ask, chat, { when: (message) => !hasToolCalls(message), map: (message) => Number(textOf(message)) });
      g.edge(chat, chat, { when: (left) => left > 0 });
      g.edge(chat, g.finish, { when: (left) => left === 0, map: () => "done" });
    });
    const turns = [{ toolCalls: [{ toolName: "read", input: {} }] }, "200"];
    const agent = durableAgent(graph, opened(), { tools: [read], turns, maxIterations: 1_000 });
    await agent.run("go");
    const records = await recordsOf(opened());
    expect(records.filter(({ kind }) => kind === "snapshot").length).toBeGreaterThan(0);
    const [blob, ...more] = await blobsOf(opened());
    expect(more).toEqual([]);
    const { blobs } = opened().log;
    expect((await blobs.get("a", blob ?? ""))?.length).toBeLessThan(500_000);
    expect(blob).toMatch(/\.gz$/);
    const checkpoints = await checkpointsOf(agent);
    expect(checkpoints.length).toBeGreaterThan(200);
    const results = checkpoints.at(-1)?.messageHistory.find(({ role }) => role === "tool");
    expect(results).toMatchObject({ content: [{ output: big }] });
  });

  it("a checkpoint of more than 5 MB is refused with an error that names its largest parts", async () => {
    const opened = await storage.open();
    let refused: CheckpointTooLargeError | undefined;
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", async (input: string, context) => {
        context.storage.set(kept, megabytes(4));
        context.storage.set(other, megabytes(2, "y"));
        const before = await recordsOf(opened());
        const save = () => persistence(context).createCheckpoint({ nodeId: "first", lastInput: input });
        refused = (await save().catch((error: unknown) => error)) as CheckpointTooLargeError;
        expect(await recordsOf(opened())).toEqual(before);
        context.storage.delete(other);
        await save();
        return input;
      });
      g.edge(g.start, first);
      g.edge(first, g.finish);
    });
    const agent = durableAgent(graph, opened());
    expect(await agent.run("go")).toMatchObject({ status: "completed" });
    expect(refused).toBeInstanceOf(CheckpointTooLargeError);
    expect(refused).toMatchObject({ code: "checkpoint_too_large", nodeId: "first", maxBytes: 5 * 1024 * 1024 });
    expect(refused?.parts.map(({ name }) => name)).toEqual([
      'storage key "dataset"',
      'storage key "other"',
      'the input of node "first"',
    ]);
    expect(refused?.message).toContain('storage key "dataset"');
    const [, second] = await checkpointsOf(agent);
    expect(second?.storage).toEqual({ dataset: megabytes(4) });
    // What was refused was not put either.
    expect((await blobsOf(opened())).size).toBe(1);
  });

  it("an input that is too large is refused with an error that names parts in words that users know", async () => {
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string) => input);
      g.edge(g.start, first);
      g.edge(first, g.finish);
    });
    const agent = durableAgent(graph, (await storage.open())());
    const refused = (await agent.run(megabytes(6)).catch((error: unknown) => error)) as CheckpointTooLargeError;
    expect(refused.parts.map(({ name }) => name).toSorted()).toEqual([
      'the input of node "first"',
      "the input of the run",
      "the model parameters",
      "the position in the run",
      "the structure of the strategy",
    ]);
  });

  it("a run with a step that is too large fails and continues from before that step", async () => {
    const opened = await storage.open();
    let size = 6;
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string, context) => {
        context.llm.append({ role: "user", content: megabytes(size) });
        return input;
      });
      g.edge(g.start, first);
      g.edge(first, g.finish);
    });
    const agent = durableAgent(graph, opened());
    await expect(agent.run("go")).rejects.toMatchObject({
      code: "checkpoint_too_large",
      parts: [{ name: "message 1" }, {}],
    });
    const before = (await checkpointsOf(agent)).map(restoredBy);
    expect(before).toHaveLength(1);
    size = 4;
    expect(await agent.resume()).toMatchObject({ status: "completed" });
    expect((await checkpointsOf(agent)).map(restoredBy).slice(0, 1)).toEqual(before);
  });

  it("a branch with an output that is too large fails and runs again, without its sibling", async () => {
    const opened = await storage.open();
    let size = 6;
    const ran: string[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const large = g.node("large", () => (ran.push("large"), megabytes(size)));
      const small = g.node("small", () => (ran.push("small"), "small"));
      const both = g.parallel("both", { large, small }, ({ large: { length } }) => `${length / 1024 / 1024} MB`);
      g.edge(g.start, both);
      g.edge(both, g.finish);
    });
    const agent = durableAgent(graph, opened());
    const refused = { code: "checkpoint_too_large", parts: [{ name: "the output of a branch" }] };
    await expect(agent.run("go")).rejects.toMatchObject(refused);
    size = 4;
    expect(await agent.resume()).toMatchObject({ status: "completed", output: "4 MB" });
    expect(ran).toEqual(["large", "small", "large"]);
  });
});

describe("a refused checkpoint on files", () => {
  it.each([[[triggers.afterNode()]], [[triggers.afterNode(), triggers.contextDelta(), triggers.interval()]]])(
    "stores none of its blobs, including blobs of messages: %j",
    async (installed) => {
      const directory = await testDirectory();
      const graph = strategy<string, string>("s", (g) => {
        const first = g.node("first", (_input: string, context) => {
          context.llm.append({ role: "user", content: megabytes(2, "a") });
          context.llm.append({ role: "user", content: megabytes(1, "b") });
          return "c".repeat(2.5 * 1024 * 1024);
        });
        const second = g.node("second", () => "done");
        g.edge(g.start, first);
        g.edge(first, second);
        g.edge(second, g.finish);
      });
      const agent = () =>
        durableAgent(graph, new FilePersistenceStorageProvider({ directory }), { triggers: installed });
      await expect(agent().run("go")).rejects.toMatchObject({ code: "checkpoint_too_large" });
      await expect(agent().resume()).rejects.toMatchObject({ code: "checkpoint_too_large" });
      expect(await blobFiles(directory)).toEqual([]);
    },
  );

  it("stores no blob with the calls that ran before it", async () => {
    const directory = await testDirectory();
    const call = tool({
      name: "call",
      description: "changes something",
      effect: "irreversible",
      inputSchema: z.object({ text: z.string() }),
      execute: () => "done",
    });
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string, context) => {
        context.llm.append({ role: "user", content: megabytes(2, "a") });
        return input;
      });
      const second = g.node("second", async (input: string, context) => {
        await context.tools.call(call, { text: "x".repeat(20_000) });
        context.llm.append({ role: "user", content: megabytes(6, "b") });
        return input;
      });
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish);
    });
    const agent = () =>
      durableAgent(graph, new FilePersistenceStorageProvider({ directory }), { triggers: [], tools: [call] });
    await expect(agent().run("go")).rejects.toMatchObject({ code: "checkpoint_too_large" });
    await expect(agent().resume()).rejects.toMatchObject({ code: "checkpoint_too_large" });
    // The input of the call.
    expect(await blobFiles(directory)).toHaveLength(1);
  });
});

async function blobFiles(directory: string): Promise<readonly string[]> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  return files.filter((file) => file.isFile() && file.parentPath.endsWith("blobs")).map(({ name }) => name);
}
