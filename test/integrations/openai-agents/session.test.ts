import { rm } from "node:fs/promises";
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Session,
  type SessionHistoryTransaction,
  tool,
} from "@openai/agents-core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { FilePersistenceStorageProvider } from "../../../src/file.ts";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  InvalidInputError,
  NotSerializableError,
  Persistence,
  persistence,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing.ts";
import { DurableRunner, PersistenceSession, SessionConflictError } from "../../../src/openai-agents.ts";
import { LogPersistenceStorageProvider } from "../../../src/storage.ts";
import { calls, FakeModel, resultsIn, says as answers } from "./fakeModel.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { cases } from "../../soak/cases.ts";

const says = (text: string): AgentInputItem => ({ role: "user", content: text });
const call = (callId: string, name = "f"): AgentInputItem & { type: "function_call" } => ({
  type: "function_call",
  callId,
  name,
  arguments: "{}",
});

function textOf(item: AgentInputItem): unknown {
  const { content } = item as { readonly content?: string | readonly { readonly text?: string }[] };
  return Array.isArray(content) ? (content as readonly { readonly text?: string }[])[0]?.text : content;
}

/** A change as both kinds of session can make it. */
type Step = (session: PersistenceSession | MemorySession) => Promise<unknown>;

const items = fc.array(
  fc.oneof(
    fc.string().map(says),
    fc.constantFrom("a", "b", "c").map((id) => call(id)),
    fc.uint8Array({ maxLength: 3 }).map((data): AgentInputItem => ({
      role: "user",
      content: [{ type: "input_image", image: "data:", providerData: { data } }],
    })),
  ),
  { maxLength: 4 },
);
const operationId = fc.constantFrom("x", "y", "z");

const step: fc.Arbitrary<Step> = fc.oneof(
  items.map(
    (added): Step =>
      (session) =>
        session.addItems(added),
  ),
  fc.constant<Step>((session) => session.popItem()),
  { weight: 1, arbitrary: fc.constant<Step>((session) => session.clearSession()) },
  fc.oneof(fc.integer({ min: -1, max: 6 }), fc.constantFrom(-0.5, 0.5, 1.5, Number.NaN)).map(
    (limit): Step =>
      (session) =>
        session.getItems(limit),
  ),
  fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.string()), { maxLength: 2 }).map((replaced): Step => {
    const mutations = replaced.map(([callId, name]) => {
      return { type: "replace_function_call" as const, callId, replacement: call(callId, name) };
    });
    return (session) => session.applyHistoryMutations({ mutations });
  }),
  fc.tuple(operationId, items).map(([id, added]): Step => {
    return (session) =>
      session.applyHistoryTransaction({ operationId: id, transaction: { type: "append_items", items: added } });
  }),
  fc.tuple(operationId, fc.nat(3), fc.boolean(), items).map(([id, length, isRight, replacement]): Step => {
    return async (session) => {
      const stored = await session.getItems();
      const expectedSuffix = isRight ? stored.slice(Math.max(stored.length - length, 0)) : [says("other")];
      await session.applyHistoryTransaction({
        operationId: id,
        transaction: { type: "replace_suffix", expectedSuffix, replacement },
      });
    };
  }),
);

/** What a step returns, or that it was refused. */
async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return { returned: await work };
  } catch {
    return "refused";
  }
}

async function compare(steps: readonly Step[], open: () => PersistenceSession): Promise<void> {
  const theirs = new MemorySession();
  let ours = open();
  for (const [index, change] of steps.entries()) {
    expect(await outcomeOf(change(ours))).toEqual(await outcomeOf(change(theirs)));
    if (index % 5 === 4) {
      await ours[Symbol.asyncDispose]();
      ours = open();
    }
    if (index % 7 === 6) await ours.prune();
  }
  expect(await ours.getItems()).toEqual(await theirs.getItems());
  await ours[Symbol.asyncDispose]();
  expect(await open().getItems()).toEqual(await theirs.getItems());
}

const runs = cases(30, 2_000);

describe("a PersistenceSession", () => {
  it("behaves like MemorySession for any operations, including reopening and pruning", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { log } = new InMemoryPersistenceStorageProvider();
        const storage = new LogPersistenceStorageProvider(log, { inlineThresholdBytes: 30 });
        await compare(steps, () => new PersistenceSession({ storage, sessionId: "talk" }));
      }),
      { numRuns: runs },
    );
  });

  it.each([
    { version: 1, sets: "back to its beginning" },
    { version: 2, sets: "back to its first answer" },
  ])("loses items of a run that a rollback sets $sets, and gets those of the repetition", async (target) => {
    const storage = new InMemoryPersistenceStorageProvider();
    await using session = new PersistenceSession({ storage, sessionId: "talk" });
    await session.addItems([says("Before.")]);
    let looked = 0;
    const look = tool({
      name: "look",
      description: "Looks.",
      parameters: z.object({}),
      execute: () => `seen ${++looked}`,
    });
    const model = new FakeModel((given) => {
      const results = resultsIn(given);
      return results.length === 0 ? [calls("look", {})] : [answers(results.join())];
    });
    const agent = new Agent({ name: "desk", model, tools: [look] });
    const runner = new DurableRunner({ storage, tools: { look: { rollback: () => undefined } } });
    await runner.run(agent, "Go.", { agentId: "a", session });
    await session.addItems([says("Meanwhile.")]);
    await session.prune();
    const checkpoints = await runner.agent("a").getCheckpoints();
    const found = checkpoints.find(({ version }) => version === target.version);
    await runner.agent("a").rollbackToCheckpoint(found?.checkpointId ?? "");
    const { finalOutput } = await runner.resume(agent, { agentId: "a", session });
    expect(finalOutput).toBe("seen 2");
    // From its first item that is another now: those before it stay where they are.
    const shown = (await session.getItems()).map((item) => ("content" in item ? item.content : item.type));
    expect(shown.filter((each) => each !== "Meanwhile.")).toEqual([
      "Before.",
      "Go.",
      "function_call",
      "function_call_result",
      [{ type: "output_text", text: "seen 2" }],
    ]);
    const kept = await session.getItems();
    await runner.resume(agent, { agentId: "a", session });
    expect(await session.getItems()).toEqual(kept);
  });

  describe.each([
    { step: "its start", version: 4 },
    { step: "its response", version: 5 },
  ])("of a run with a compaction that is set back to $step", ({ version }) => {
    /** Two runs with one session. The second one compacts the session. */
    async function compacted(then?: "pruneSession" | "clearSession") {
      const { log } = new InMemoryPersistenceStorageProvider();
      const storage = new LogPersistenceStorageProvider(log, { inlineThresholdBytes: 30 });
      const session = new PersistenceSession({ storage, sessionId: "talk" });
      let compacts = false;
      const summary = { type: "compaction", encrypted_content: "a summary of everything before", id: "c" } as const;
      const model = new FakeModel((given) => {
        const said = answers(`${given.length} items are known to the model`);
        return compacts ? [summary, said] : [said];
      });
      const agent = new Agent({ name: "desk", model });
      const runner = new DurableRunner({ storage });
      await runner.run(agent, "First question.", { agentId: "a", runId: "1", session });
      compacts = true;
      await runner.run(agent, "Second question.", { agentId: "a", runId: "2", session });
      compacts = false;
      expect((await session.getItems())[0]).toMatchObject({ type: "compaction" });
      if (then === "pruneSession") await session.prune();
      if (then === "clearSession") await session.clearSession();
      const checkpoint = (await runner.agent("a").getCheckpoints()).find((each) => each.version === version);
      await runner.agent("a").rollbackToCheckpoint(checkpoint!.checkpointId);
      await runner.resume(agent, { agentId: "a", session });
      return (await session.getItems()).map((item) => ("content" in item ? textOf(item) : item.type));
    }

    it("gets the items of earlier runs back", async () => {
      expect(await compacted()).toEqual([
        "First question.",
        "1 items are known to the model",
        "Second question.",
        "3 items are known to the model",
      ]);
    });

    it("keeps the compaction after a pruning", async () => {
      expect((await compacted("pruneSession"))[0]).toBe("compaction");
    });

    it("does not get items back that a user has removed", async () => {
      expect(await compacted("clearSession")).not.toContain("First question.");
    });
  });

  it("keeps the items of a deleted run whose id another run has", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await using session = new PersistenceSession({ storage, sessionId: "talk" });
    const agent = new Agent({ name: "desk", model: new FakeModel((given) => [answers(`${given.length}`)]) });
    const runner = new DurableRunner({ storage });
    for (const question of ["First.", "Second."]) {
      await runner.run(agent, question, { agentId: "a", runId: "r", session });
      const keeper = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m" });
      await persistence(keeper.install(Persistence, { storage })).deleteAgent("a");
    }
    expect((await session.getItems()).map(textOf)).toEqual(["First.", "1", "Second.", "3"]);
  });

  it("is stored in files, and removed items are gone from them after a pruning", async () => {
    const directory = await temporaryDirectory();
    const open = () => {
      const storage = new FilePersistenceStorageProvider({ directory });
      return new PersistenceSession({ storage, sessionId: "talk" });
    };
    {
      await using session = open();
      await session.addItems([says("x".repeat(50_000)), says("kept")]);
      await session.applyHistoryTransaction({
        operationId: "o",
        transaction: { type: "replace_suffix", expectedSuffix: [says("kept")], replacement: [] },
      });
      await session.clearSession();
      await session.addItems([says("new")]);
    }
    await using session = open();
    expect(await session.getItems()).toEqual([says("new")]);
    expect((await session.prune()).bytes).toBeGreaterThan(1_000);
    expect(await open().getItems()).toEqual([says("new")]);
    await rm(directory, { recursive: true });
  });

  it("copies items when it gets and returns them", async () => {
    const session: Session = new PersistenceSession({
      storage: new InMemoryPersistenceStorageProvider(),
      sessionId: "talk",
    });
    const added = [says("first")];
    const adding = session.addItems(added);
    Object.assign(added[0] as object, { content: "changed" });
    added.push(says("second"));
    await adding;
    const [read] = await session.getItems();
    Object.assign(read as object, { content: "changed" });
    expect(await session.getItems()).toEqual([says("first")]);
  });

  it("shares no items with a session of another name", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await using one = new PersistenceSession({ storage, sessionId: "one" });
    await using other = new PersistenceSession({ storage, sessionId: "one/other" });
    await Promise.all([one.addItems([says("one")]), other.addItems([says("other")])]);
    expect(await one.getItems()).toEqual([says("one")]);
    expect(await other.getItems()).toEqual([says("other")]);
  });

  it("moves between owners as they use it, without waiting for the first to end", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await using one = new PersistenceSession({ storage, sessionId: "talk" });
    await using other = new PersistenceSession({ storage, sessionId: "talk" });
    for (const [index, session] of [one, other, one, other].entries()) await session.addItems([says(`${index}`)]);
    expect(await one.getItems()).toEqual(["0", "1", "2", "3"].map(says));
    expect(await other.popItem()).toEqual(says("3"));
  });

  it("refuses invalid input before any change", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await using session = new PersistenceSession({ storage, sessionId: "talk" });
    await session.addItems([says("kept")]);
    const transaction: SessionHistoryTransaction = { type: "append_items", items: [says("new")] };
    await session.applyHistoryTransaction({ operationId: "o", transaction });
    const refused: [() => Promise<unknown>, new (...facts: never[]) => Error][] = [
      [() => session.addItems("text" as never), InvalidInputError],
      [() => session.addItems([{ role: "user", content: (() => {}) as never }]), NotSerializableError],
      [() => session.applyHistoryTransaction({ operationId: " ", transaction }), InvalidInputError],
      [
        () => session.applyHistoryTransaction({ operationId: "p", transaction: { type: "drop" } as never }),
        InvalidInputError,
      ],
      [
        () =>
          session.applyHistoryTransaction({ operationId: "q", transaction: { ...transaction, items: [{} as never] } }),
        InvalidInputError,
      ],
      [
        () => session.applyHistoryTransaction({ operationId: "o", transaction: { ...transaction, items: [] } }),
        SessionConflictError,
      ],
    ];
    for (const [attempt, error] of refused) await expect(attempt()).rejects.toThrow(error);
    expect(await session.getItems()).toEqual([says("kept"), says("new")]);
    expect(() => new PersistenceSession({ storage: {} as never, sessionId: "talk" })).toThrow(InvalidInputError);
    expect(() => new PersistenceSession({ storage, sessionId: "" })).toThrow(InvalidInputError);
  });

  it("reports conflicts of transactions in the words of the SDK", async () => {
    const reuse: SessionHistoryTransaction = { type: "append_items", items: [says("other")] };
    const replace: SessionHistoryTransaction = { type: "replace_suffix", expectedSuffix: [says("x")], replacement: [] };
    const storage = new InMemoryPersistenceStorageProvider();
    for (const session of [new PersistenceSession({ storage, sessionId: "s" }), new MemorySession()]) {
      const apply = (operationId: string, transaction: SessionHistoryTransaction) =>
        session.applyHistoryTransaction({ operationId, transaction });
      await apply("a", { type: "append_items", items: [says("first")] });
      await expect(apply("a", reuse)).rejects.toThrow("already applied with a different transaction");
      await expect(apply("b", replace)).rejects.toThrow("suffix no longer matches");
    }
  });
});
