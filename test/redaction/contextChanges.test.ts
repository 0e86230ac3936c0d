import { expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  storageKey,
  strategy,
  tool,
} from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { storedText } from "./redactedHarness.ts";

it.each([1, 2_000])("redacts %i values that a tool stores through its context before the call ends", async (count) => {
  const storage = new InMemoryPersistenceStorageProvider();
  const profile = storageKey("profile", z.array(z.object({ name: z.string(), age: z.number() })));
  const secret = "Alexandra Quill";
  let isStopped = true;
  const save = tool({
    name: "save",
    description: "",
    inputSchema: z.object({}),
    execute: (_input, { context }) =>
      context.storage.set(
        profile,
        Array.from({ length: count }, (_none, age) => ({ name: secret, age })),
      ),
  });
  const agent = () =>
    new AIAgent({
      id: "a",
      promptExecutor: scriptedModel([]),
      llmModel: "scripted",
      tools: [save],
      strategy: strategy<string, unknown>("saves", (graph) => {
        const node = graph.node("save", async (_text: string, context) => {
          await context.tools.call(save, {});
          if (isStopped) throw new Error("stopped");
          return context.storage.get(profile)?.at(-1);
        });
        graph.edge(graph.start, node);
        graph.edge(node, graph.finish);
      }),
    }).install(Persistence, {
      storage,
      redact: redaction({ paths: ["storage.profile.name"], vault: { keys: testKeys("first") } }),
    });

  await expect(agent().run("go", { agentId: "a" })).rejects.toThrow("stopped");
  expect(await storedText(storage)).toContain(`"kind":"outcome"`);
  expect(await storedText(storage)).not.toContain(secret);
  isStopped = false;
  expect(await agent().resume({ agentId: "a" })).toMatchObject({ output: { name: secret, age: count - 1 } });
  expect((await persistence(agent()).agent("a").getLatestCheckpoint())?.status).toBe("completed");
});
