import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, tool } from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { storedText } from "./redactedHarness.ts";

const iban = "DE89370400440532013000";
const call = { toolCalls: [{ toolName: "charge", input: {} }] };

/** An agent whose tool has an output over 10 KB. */
function largeAgent(
  storage: InMemoryPersistenceStorageProvider,
  answers: Parameters<typeof scriptedModel>[0],
  path = "charge.output.iban",
) {
  const charge = tool({
    name: "charge",
    description: "Charges.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: () => ({ iban, page: "a long page ".repeat(2_000) }),
  });
  return new AIAgent({
    promptExecutor: scriptedModel(answers),
    llmModel: "scripted",
    tools: [charge],
    modelRetry: false,
  }).install(Persistence, { storage, redact: redaction({ paths: [path], vault: { keys: testKeys("first") } }) });
}

describe("a value in an output over 10 KB", () => {
  it.each(["charge.output.iban", "charge.output"])("is redacted in a later text, with the rule %s", async (path) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = largeAgent(storage, [call, `I charged ${iban}.`], path);
    expect(await agent.run("go", { agentId: "a" })).toMatchObject({ output: `I charged ${iban}.` });
    expect(await storedText(storage)).toContain("$blob");
    expect(await storedText(storage)).not.toContain(iban);
  });

  it("is redacted in a later text of another process that reads the output", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await expect(largeAgent(storage, [call]).run("go", { agentId: "a" })).rejects.toThrow("The scripted model has");
    const resumed = await largeAgent(storage, [call, `I charged ${iban}.`]).resume({ agentId: "a" });
    expect(resumed).toMatchObject({ output: `I charged ${iban}.` });
    expect(await storedText(storage)).not.toContain(iban);
  });
});
