import { expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, Persistence, persistence, tool, InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { redaction, secret } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { openBooks } from "../encryption/storedBytes.ts";
import { AgentInspector } from "../../src/inspect.ts";

it("smoke", async () => {
  const { storage, bytes } = await openBooks["in memory"]!();
  const seen: unknown[] = [];
  const charge = tool({
    name: "charge",
    description: "x",
    inputSchema: z.object({ card: z.object({ number: secret(z.string()) }), n: z.number() }),
    execute: async (input) => {
      seen.push(input);
      return { receipt: "receipt-of-4111", ok: [{ iban: "DE999999999" }] };
    },
  });
  const make = () =>
    new AIAgent({
      promptExecutor: scriptedModel([
        { toolCalls: [{ toolName: "charge", input: { card: { number: "4111-1111-1111" }, n: 3 } }] },
        "charged 4111-1111-1111 and DE999999999",
      ]),
      llmModel: "s",
      tools: [charge],
    }).install(Persistence, {
      storage,
      redact: redaction({ paths: ["charge.output.ok.iban"], vault: { keys: testKeys("first") } }),
    });
  const agent = make();
  const result = await agent.run("go", { agentId: "a", runId: "r" });
  console.log(JSON.stringify(result));
  console.log(seen);
  const text = (await bytes()).toString("latin1");
  console.log(text.replaceAll(/(\[redacted:)[^\]]*/g, "$1"));
  expect(text).not.toContain("4111-1111");
  expect(text).not.toContain("DE9999");
  const again = make();
  console.log(JSON.stringify((await persistence(again).agent("a").getCheckpoints()).at(-1)));
  console.log(JSON.stringify(await again.run("go", { agentId: "a", runId: "r" })));
});
