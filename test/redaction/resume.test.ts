import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AIAgent,
  InMemoryPersistenceStorageProvider,
  persistence,
  type PersistenceStorageProvider,
} from "../../src/index.ts";
import { redaction, type RedactionOptions } from "../../src/encryption.ts";
import { crashAfter } from "../../src/testing.ts";
import { cases, every } from "../soak/cases.ts";
import { chargingAgent, input, newWorld, redactionOptions, secretIn, type World } from "./chargingAgent.ts";

/** A process with a redaction of its own. */
function process(storage: PersistenceStorageProvider, world: World, options?: RedactionOptions) {
  const redact = options && redaction(options);
  return chargingAgent(storage, world, { redact, onToolCallInDoubt: () => "retry" });
}

/** Runs or resumes an agent to its end, and answers its requests. */
async function finish(agent: AIAgent<typeof input, unknown>): Promise<unknown> {
  const durable = persistence(agent).agent("a");
  for (let begun = (await durable.getCheckpoints()).length > 0; ; begun = true) {
    const result = await (begun ? agent.resume({ agentId: "a" }) : agent.run(input, { agentId: "a", runId: "r" }));
    if (result.status === "completed") return result.output;
    for (const { kind, requestId } of await durable.getRequests())
      await durable.answer(requestId, kind === "approval" ? { approved: true } : { pin: secretIn("pin") });
  }
}

/** Returns what an agent did, without ids. */
function done(output: unknown, { charged, reversed, asked }: World): unknown {
  const text = JSON.stringify({ output, charged: charged.at(-1), reversed, asked: asked.at(-1) });
  return JSON.parse(text.replaceAll(/"toolCallId":"[^"]*"/g, '"toolCallId":""'));
}

/** Runs the agent with a crash after some saves, and rolls it back. */
async function runWith(options: RedactionOptions | undefined, saves: number): Promise<unknown> {
  const storage = new InMemoryPersistenceStorageProvider();
  const world = newWorld();
  await finish(process(crashAfter(storage, saves), world, options)).catch(() => undefined);
  const agent = process(storage, world, options);
  const output = await finish(agent);
  const durable = persistence(process(storage, world, options)).agent("a");
  await durable.rollbackToCheckpoint((await durable.getCheckpoints())[0]?.checkpointId ?? "");
  return done(output, world);
}

const many = 1_000;

describe("a redacted agent", () => {
  it("ends after a crash at any save as it ends without redaction and without a crash", async () => {
    const expected = await runWith(undefined, many);
    expect(JSON.stringify(expected)).toContain(secretIn("receipt"));
    for (let saves = 0; saves < 30; saves += every(3, 1))
      expect({ saves, done: await runWith(redactionOptions, saves) }).toEqual({ saves, done: expected });
  });

  it("ends in the same way with any rules", { timeout: 600_000 }, async () => {
    const expected = await runWith(undefined, many);
    const paths = [
      ...(redactionOptions.paths ?? []),
      "charge",
      "input",
      "output",
      "message",
      "content",
      "kind",
      "*.code",
    ];
    const others = [
      "history",
      "data",
      "text",
      "error.message",
      "charge.*",
      "toolName",
      "role",
      "$outcomes",
      "\\__proto__",
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.subarray([...paths, ...others]),
        fc.constantFrom(/TEXT-\w+-SECRET/g, /e/g, /[a-z]+/g, /(?!)/g),
        fc.nat(30),
        async (chosen, pattern, saves) => {
          const text = (given: string) => given.replaceAll(pattern, "*");
          expect(await runWith({ ...redactionOptions, paths: chosen, text }, saves)).toEqual(expected);
        },
      ),
      { numRuns: cases(12, 400) },
    );
  });
});
