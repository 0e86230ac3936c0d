import type { AgentCheckpointData } from "../../../checkpoint/data/AgentCheckpointData.ts";
import { jsonValues, changeDeeply } from "../../support/jsonValues.ts";
import { exampleCheckpoint, fullCheckpoints } from "./exampleCheckpoint.ts";
import { providerTest, type ProviderTest } from "./providerTest.ts";

export const valueTests: readonly ProviderTest[] = [
  providerTest("keeps every field of a checkpoint", async (storage, expect) => {
    await storage.saveAll(fullCheckpoints("a"));
    await storage.expectStored("a", fullCheckpoints("a"), expect);
  }),

  providerTest("does not add missing fields", async (storage, expect) => {
    const empty = { messageHistory: [], storage: {}, tools: [], lastInput: null };
    const { model: _model, ...least } = exampleCheckpoint("a", 1, empty);
    await storage.save(least);
    await storage.expectStored("a", [least], expect);
  }),

  ...Object.entries(jsonValues).map(([kind, make]) =>
    providerTest(`keeps ${kind}`, async (storage, expect) => {
      const all = [holding(make()), exampleCheckpoint("a", 2)];
      await storage.saveAll(all);
      await storage.expectStored("a", all, expect);
    }),
  ),

  providerTest("keeps a history of a thousand messages", async (storage, expect) => {
    const messageHistory = Array.from({ length: 1_000 }, (_, n) => ({
      role: "user" as const,
      content: `message ${n}`,
    }));
    const all = [1, 2, 3].map((version) =>
      exampleCheckpoint("a", version, { messageHistory: messageHistory.slice(0, 997 + version) }),
    );
    await storage.saveAll(all);
    await storage.expectStored("a", all, expect);
  }),
];

/** Returns a checkpoint with the value in every field for user values. */
function holding(value: unknown): AgentCheckpointData {
  return exampleCheckpoint("a", 1, {
    lastInput: value,
    storage: withOwn(withOwn({}, "__proto__", value), "a key", value),
    modelParameters: { given: value },
    toolCalls: [
      { toolCallId: "call-1", toolName: "look", effect: "none", input: value, status: "succeeded", output: value },
    ],
    messageHistory: [
      { role: "user", content: typeof value === "string" ? value : JSON.stringify(value) },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "call-1", toolName: "look", input: value }] },
    ],
  });
}

/** Sets a property of any name. An assignment to `__proto__` would set no property. */
function withOwn(target: Record<string, unknown>, key: string, value: unknown): Record<string, unknown> {
  return Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Tests that callers cannot change stored objects. */
export const isolationTests: readonly ProviderTest[] = [
  providerTest("keeps a saved checkpoint when the caller changes its object later", async (storage, expect) => {
    for (const data of fullCheckpoints("a")) {
      const handed = structuredClone(data);
      const saving = storage.hand(handed);
      // The original value counts, even if the caller changes the object during the save.
      changeDeeply(handed);
      await saving;
    }
    await storage.expectStored("a", fullCheckpoints("a"), expect);
  }),

  providerTest("does not change the checkpoint of the caller", async (storage, expect) => {
    for (const data of fullCheckpoints("a")) {
      const handed = structuredClone(data);
      await storage.hand(handed);
      expect.equal(`the object given to saveCheckpoint (version ${data.version})`, handed, data);
    }
  }),

  providerTest(
    "keeps stored checkpoints when a caller changes the result of getCheckpoints",
    async (storage, expect) => {
      await storage.saveAll(fullCheckpoints("a"));
      changeDeeply(await storage.all("a"));
      await storage.expectStored("a", fullCheckpoints("a"), expect);
      await storage.reopen();
      await storage.expectStored("a", fullCheckpoints("a"), expect);
    },
  ),

  providerTest(
    "keeps the stored checkpoint when a caller changes the result of getLatestCheckpoint",
    async (storage, expect) => {
      await storage.saveAll(fullCheckpoints("a"));
      changeDeeply(await storage.latest("a"));
      await storage.expectStored("a", fullCheckpoints("a"), expect);
    },
  ),

  providerTest("returns a result that later saves do not extend", async (storage, expect) => {
    await storage.save(exampleCheckpoint("a", 1));
    const before = await storage.all("a");
    await storage.save(exampleCheckpoint("a", 2));
    expect.equal("the number of checkpoints read before the second was saved", before.length, 1);
  }),
];
