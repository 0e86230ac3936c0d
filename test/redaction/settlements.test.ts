import { expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, tool } from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { storedText } from "./redactedHarness.ts";

const secretText = "DE-settled-account";
const output = { name: "Ada", iban: secretText };
const redactedOutput = '{"name":"Ada","iban":"[redacted]"}';
const call = { toolCalls: [{ toolName: "look", input: {} }] };
const redact = redaction({ paths: ["look.output.iban"] });

/** A tool that is aborted while its first call runs. */
function abortedLook(abort: AbortController) {
  return tool({
    name: "look",
    description: "Looks.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: (): typeof output => {
      abort.abort();
      throw abort.signal.reason;
    },
  });
}

it("redacts the output of a settled call without a vault", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const abort = new AbortController();
  const asked: unknown[] = [];
  const model = scriptedModel([call, "done"]);
  const agent = new AIAgent({
    promptExecutor: {
      execute: (request) => {
        asked.push(request.messages);
        return model.execute(request);
      },
    },
    llmModel: "scripted",
    tools: [abortedLook(abort)],
  }).install(Persistence, { storage, redact });
  await expect(agent.run("go", { agentId: "a", signal: abort.signal })).rejects.toThrow("abort");
  const durable = persistence(agent).agent("a");
  const [inDoubt] = await durable.getToolCallsInDoubt();
  await durable.settleToolCall(inDoubt?.toolCallId ?? "", { output });
  await agent.resume({ agentId: "a" });
  expect(JSON.stringify(asked.at(-1))).toContain(redactedOutput);
  expect(await storedText(storage)).toContain(redactedOutput);
  expect(await storedText(storage)).not.toContain(secretText);
});
