import { persistence, RollbackToolRegistry, strategy, tool, type AgentContext } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter, SimulatedCrashError } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

/** Books three large things, and then loses what it booked in the middle. */
describe.each(logStorages)("$name: a rollback over a lost output", ({ open }) => {
  async function damaged({ usesOutput = true }: { readonly usesOutput?: boolean } = {}) {
    const opened = await open();
    const undone: string[] = [];
    const book = tool({
      name: "book",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      execute: ({ item }) => ({ item, paper: item.repeat(20_000) }),
    });
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, call) => {
      undone.push(usesOutput ? call.output.item : item);
    });
    const graph = strategy<string, string>("s", (g) => {
      const all = g.node("all", async (input: string, context: AgentContext) => {
        for (const item of input === "go" ? ["a", "b", "c"] : []) await context.tools.call(book, { item });
        return input;
      });
      g.edge(g.start, all);
      g.edge(all, g.finish);
    });
    const build = () => {
      const agent = durableAgent(graph, opened(), { tools: [book], registry });
      return { agent, outside: persistence(agent).agent() };
    };
    await build().agent.run("go", { runId: "r" });
    const [, second = ""] = await outputBlobs(opened());
    await opened().log.blobs.delete("a", second);
    const [first] = await build().outside.getCheckpoints();
    const target = first?.checkpointId ?? "";
    const undo = (onFailure?: "leave") => build().outside.rollbackToCheckpoint(target, onFailure && { onFailure });
    return { build, undo, undone, target };
  }

  async function stopped() {
    const all = await damaged();
    const error: unknown = await all.undo().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "rollback_incomplete",
      reverted: [{ input: { item: "c" } }],
      failed: [{ input: { item: "b" }, output: undefined, unreadable: { code: "unreadable_value" } }],
      remaining: [{ input: { item: "a" } }],
    });
    const [{ inverseId }] = (error as { readonly failed: readonly [{ readonly inverseId: string }] }).failed;
    return { ...all, inverseId };
  }

  it("stops at the call with its lists, each time it is tried", async () => {
    const { undo, undone, build } = await stopped();
    await expect(undo()).rejects.toMatchObject({ code: "rollback_incomplete", reverted: [{}], remaining: [{}] });
    await expect(build().agent.resume()).rejects.toMatchObject({ code: "rollback_incomplete" });
    expect(undone).toEqual(["c"]);
  });

  it("runs an inverse that does not use the output", async () => {
    const { undo, undone } = await damaged({ usesOutput: false });
    const report = await undo();
    expect([report.failed, undone]).toEqual([[], ["c", "b", "a"]]);
    expect(report.reverted[1]).toMatchObject({ output: undefined, unreadable: { code: "unreadable_value" } });
  });

  it.each(["unknown", { error: "it stays" }, { output: undefined }] as const)(
    "continues past the call after a settlement as %j",
    async (settlement) => {
      const { undo, undone, build, inverseId } = await stopped();
      await build().outside.settleToolCall(inverseId, settlement);
      const report = await undo();
      const reverted = typeof settlement === "object" && "output" in settlement;
      expect(report.failed).toHaveLength(reverted ? 0 : 1);
      expect(undone).toEqual(["c", "a"]);
      expect(await build().agent.resume()).toMatchObject({ status: "completed" });
    },
  );

  it("can leave calls that cannot be reverted, at once or after it stopped", async () => {
    for (const { undo, undone, build } of [await damaged(), await stopped()]) {
      const report = await undo("leave");
      expect(report.reverted.map(({ input }) => input)).toEqual([{ item: "c" }, { item: "a" }]);
      expect(report.failed).toMatchObject([{ input: { item: "b" }, error: {} }]);
      expect(undone).toEqual(["c", "a"]);
      expect(await build().agent.resume()).toMatchObject({ status: "completed" });
    }
  });

  it("of messages can leave calls that a stopped rollback cannot revert", async () => {
    const { build, target } = await stopped();
    const options = { rollbackStrategy: "message_history_only" } as const;
    await expect(build().outside.rollbackToCheckpoint(target, options)).rejects.toMatchObject({
      code: "rollback_incomplete",
    });
    const report = await build().outside.rollbackToCheckpoint(target, { ...options, onFailure: "leave" });
    expect(report.checkpointId).toBe(target);
  });

  it("lets the agent start a new run, whose result names the remaining calls", async () => {
    const { build, undone } = await stopped();
    await expect(build().agent.run("other")).rejects.toMatchObject({ code: "rollback_incomplete" });
    const result = await build().agent.run("other", { unfinished: "abandon" });
    expect(result).toMatchObject({
      status: "completed",
      output: "other",
      effects: { missing: [], remaining: [{ input: { item: "b" } }] },
    });
    expect(undone).toEqual(["c", "a"]);
    expect(await build().agent.run("again")).toMatchObject({ output: "again" });
  });

  it("lets the agent be canceled", async () => {
    const { build } = await stopped();
    await build().outside.cancel("enough");
    expect(await build().agent.run("other")).toMatchObject({ status: "completed", output: "other" });
  });

  it("lets a call in doubt with a lost input be settled", async () => {
    const opened = await open();
    const send = tool({
      name: "send",
      description: "",
      inputSchema: z.object({ text: z.string() }),
      effect: "irreversible",
      execute: (): string => "sent",
    });
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", (_input: string, context: AgentContext) =>
        context.tools.call(send, { text: "x".repeat(20_000) }),
      );
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    await expect(durableAgent(graph, crashAfter(opened(), 2), { tools: [send] }).run("go")).rejects.toBeInstanceOf(
      SimulatedCrashError,
    );
    for (const blob of await blobsOf(opened())) await opened().log.blobs.delete("a", blob);
    const outside = persistence(durableAgent(graph, opened(), { tools: [send] })).agent();
    const [doubt] = await outside.getToolCallsInDoubt();
    expect(doubt).toMatchObject({ toolName: "send", input: undefined, unreadable: { code: "unreadable_value" } });
    await outside.settleToolCall(doubt?.toolCallId ?? "", { error: "not sent" });
    expect(await outside.getToolCallsInDoubt()).toEqual([]);
  });
});

async function blobsOf(storage: LogPersistenceStorageProvider, kind?: string): Promise<readonly string[]> {
  const records = (await recordsOf(storage)).filter((record) => kind === undefined || record.kind === kind);
  return JSON.stringify(records).match(/blob:\/\/[0-9a-f]+-\d+(?:\.gz)?/g) ?? [];
}

const outputBlobs = (storage: LogPersistenceStorageProvider) => blobsOf(storage, "outcome");
