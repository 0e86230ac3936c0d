import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  storageKey,
  strategy,
  tool,
} from "../../../src/index.ts";
import { redaction } from "../../../src/encryption.ts";
import { TaskManager } from "../../../src/task.ts";
import { scriptedModel } from "../../../src/testing.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { storedText } from "../redactedHarness.ts";

const numberOf = {
  input: 481_000_001,
  output: 481_000_002,
  answer: 481_000_003,
  payload: 481_000_004,
  "storage.pin": 481_000_005,
  "look.input": 481_000_006,
  "look.output": 481_000_007,
};
const paths = Object.keys(numberOf);
const pin = storageKey("pin", z.number());
const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.number(),
  effect: "idempotent",
  execute: () => numberOf["look.output"],
});

/** An agent all of whose values are numbers. */
function countingAgent(storage: InMemoryPersistenceStorageProvider) {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    tools: [look],
    strategy: strategy<number, number>("count", (graph) => {
      const set = graph.node("set", async (_input: number, context) => {
        context.storage.set(pin, numberOf["storage.pin"]);
        await context.tools.call(look, numberOf["look.input"]);
        await context.requestInput({ prompt: "The number?", schema: z.number() });
        await context.receive("news", { schema: z.number() });
        return numberOf.output;
      });
      graph.edge(graph.start, set);
      graph.edge(set, graph.finish);
    }),
  }).install(Persistence, { storage, redact: redaction({ paths, vault: { keys: testKeys("first") } }) });
}

/** The places whose numbers a text contains. */
const found = (text: string) => paths.filter((path) => text.includes(String(Reflect.get(numberOf, path))));

describe("a value that is a number or a boolean as a whole", () => {
  it("is redacted at the paths of an agent, and runs get it", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agent = countingAgent(storage);
    const durable = persistence(agent).agent("a");
    await agent.run(numberOf.input, { agentId: "a" });
    const [request] = await durable.getRequests();
    await durable.answer(request?.requestId ?? "", numberOf.answer);
    await durable.send("news", numberOf.payload);
    expect(await agent.resume({ agentId: "a" })).toMatchObject({ output: numberOf.output });
    const stored: string[] = [];
    for (const summary of await collect(storage.log.list()))
      stored.push(JSON.stringify(summary), await storedText(storage, summary.agentId));
    expect(stored.length).toBeGreaterThan(4);
    expect(stored.flatMap(found)).toEqual([]);
  });

  it("is redacted at the paths of a task, also if it is a boolean", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const tasks = new TaskManager({ storage, redact: redaction({ paths, vault: { keys: testKeys("first") } }) });
    const { taskId } = await tasks.create({ taskName: "count", inputRequest: numberOf.input });
    await tasks.start(taskId);
    await tasks.complete(taskId, { output: true });
    expect(await tasks.get(taskId)).toMatchObject({ inputRequest: numberOf.input, data: { finalOutput: true } });
    const stored = (await storedText(storage, taskId)) + JSON.stringify(await collect(storage.log.list()));
    expect(found(stored)).toEqual([]);
    expect(stored).not.toMatch(/"(output|finalOutput)":true/);
  });
});

describe("a short value at a redacted path beside a date", () => {
  it("is redacted in events about the status", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const events: unknown[] = [];
    const redact = redaction({ paths: ["output.pin"], vault: { keys: testKeys("first") } });
    const agent = new AIAgent({
      promptExecutor: scriptedModel([]),
      llmModel: "scripted",
      strategy: strategy<string, unknown>("pin", (graph) => {
        const give = graph.node("give", () => ({ pin: "4711", at: new Date(0) }));
        graph.edge(graph.start, give);
        graph.edge(give, graph.finish);
      }),
    }).install(Persistence, { storage, redact, onEvent: (event) => void events.push(event) });
    await agent.run("go", { agentId: "a" });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "status_changed",
        status: "completed",
        data: expect.objectContaining({ finalOutput: "[redacted]" }),
      }),
    );
    expect(JSON.stringify(events)).not.toContain("4711");
  });
});
