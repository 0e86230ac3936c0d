import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  strategy,
} from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { storedText } from "./redactedHarness.ts";

const pin = "PIN-483920";

/** An agent that asks for a PIN, adds messages of 9 KB, and shows the answer in its next request. */
function askingAgent(storage: PersistenceStorageProvider, messages: number) {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    strategy: strategy<string, string>("ask", (graph) => {
      const first = graph.node("first", async (_input: string, context) => {
        const schema = z.object({ pin: z.string(), note: z.string() });
        const answer = await context.requestInput({ prompt: "The PIN?", schema });
        for (let at = 0; at < messages; at++)
          context.llm.append({ role: "user", content: `${at} `.padEnd(9_000, "a message ") });
        return answer;
      });
      const second = graph.node("second", async (answer: { readonly pin: string; readonly note: string }, context) => {
        const prompt = `Is ${answer.pin} right? ${answer.note}`;
        await context.requestInput({ prompt, schema: z.object({ ok: z.boolean() }) });
        return answer.pin;
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    }),
  }).install(Persistence, {
    storage,
    maxCheckpointBytes: Number.MAX_SAFE_INTEGER,
    redact: redaction({ paths: ["answer.pin", "input"], vault: { keys: testKeys("first") } }),
  });
}

describe("a fork of an agent with redacted values", () => {
  it.each([
    ["fit in memory", 1],
    ["are read twice", 2_000],
  ])("keeps them redacted, and the texts that look like them, if its appends %s", async (_name, messages) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = askingAgent(storage, messages);
    await agent.run("a secret input", { agentId: "a" });
    const [token = ""] = /\[redacted:[^\]]+\]/.exec(await storedText(storage)) ?? [];
    const durable = persistence(agent).agent("a");
    await durable.answer((await durable.getRequests())[0]?.requestId ?? "", { pin, note: token });
    await agent.resume({ agentId: "a" });
    expect((await storedText(storage)).length > 16 * 1024 * 1024).toBe(messages > 1);
    await persistence(askingAgent(storage, messages)).agent("a").fork("b");
    expect((await storedText(storage, "b")).includes(pin)).toBe(false);
    const [request] = await persistence(askingAgent(storage, messages)).agent("b").getRequests();
    expect(request).toMatchObject({ prompt: `Is ${pin} right? ${token}` });
  });
});
