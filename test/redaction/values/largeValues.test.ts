import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, tool } from "../../../src/index.ts";
import { redaction } from "../../../src/encryption.ts";
import { scriptedModel } from "../../../src/testing.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import { redactedLog, storedText } from "../redactedHarness.ts";

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

  it("is redacted in a later text of another process that stores only a reference to the output", async () => {
    const { log } = new InMemoryPersistenceStorageProvider();
    const owner = { host: "h", processId: 1, nonce: "n" };
    const [first, second] = [redactedLog(log), redactedLog(log)];
    const stored = await first.open("a", owner);
    const reference = await first.blobs.put("a", stored.generation, Buffer.from(JSON.stringify({ iban })));
    const value = { $blob: [reference, 99] };
    await stored.append({ id: "1", records: [{ kind: "note", key: "k", value } as never] }, 0);
    await stored.release();
    const owned = await second.open("a", owner);
    const repeat = { kind: "message", message: { role: "user", content: `I paid ${iban}.` } };
    const appends = [{ kind: "note", key: "k", value }, repeat].map((record, at) =>
      owned.append({ id: `${at + 2}`, records: [record as never] }, at + 1),
    );
    expect(await Promise.all(appends)).toEqual([2, 3]);
    expect(JSON.stringify(await collect(log.read("a")))).not.toContain(iban);
    expect(JSON.stringify(await collect(second.read("a")))).toContain(`I paid ${iban}.`);
  });

  it("is redacted in a later text of another process that reads the output", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await expect(largeAgent(storage, [call]).run("go", { agentId: "a" })).rejects.toThrow("The scripted model has");
    const resumed = await largeAgent(storage, [call, `I charged ${iban}.`]).resume({ agentId: "a" });
    expect(resumed).toMatchObject({ output: `I charged ${iban}.` });
    expect(await storedText(storage)).not.toContain(iban);
  });
});
