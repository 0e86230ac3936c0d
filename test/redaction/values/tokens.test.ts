import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "../../../src/index.ts";
import { redaction } from "../../../src/encryption.ts";
import { scriptedModel } from "../../../src/testing.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";

const token = "[redacted:YQ.Yg.Yw]";

/** An agent that makes a checkpoint, and waits for an answer. */
function waitingAgent(storage: InMemoryPersistenceStorageProvider, id = "go-on") {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    strategy: strategy<string, string>("wait", (graph) => {
      const wait = graph.node("wait", async (input: string, context) => {
        await context.requestInput({ prompt: "Go on?", id, schema: z.boolean() });
        return input;
      });
      graph.edge(graph.start, wait);
      graph.edge(wait, graph.finish);
    }),
  }).install(Persistence, { storage, redact: redaction({ vault: { keys: testKeys("first") } }) });
}

async function answer(storage: InMemoryPersistenceStorageProvider): Promise<void> {
  const durable = persistence(waitingAgent(storage)).agent("a");
  const [request] = await durable.getRequests();
  await durable.answer(request?.requestId ?? "", true);
}

const refused = { code: "invalid_input", message: expect.stringContaining("in the form of a redacted value") };

describe("a text that looks like a redacted value", () => {
  it("is refused as the id of a run, and the agent stays readable", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await expect(waitingAgent(storage).run("go", { agentId: "a", runId: token })).rejects.toMatchObject(refused);
    expect(await waitingAgent(storage).run("go", { agentId: "a" })).toMatchObject({ status: "waiting" });
    expect(await persistence(waitingAgent(storage)).agent("a").getCheckpoints()).not.toEqual([]);
  });

  it("is refused as the name of a checkpoint, and the agent stays readable", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await waitingAgent(storage).run("go", { agentId: "a" });
    const durable = persistence(waitingAgent(storage)).agent("a");
    const [checkpoint] = await durable.getCheckpoints();
    await expect(durable.nameCheckpoint(checkpoint?.checkpointId ?? "", token)).rejects.toMatchObject(refused);
    await answer(storage);
    expect(await waitingAgent(storage).resume({ agentId: "a" })).toMatchObject({ output: "go" });
  });

  it("is refused as the id of a request, and the agent stays readable", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await expect(waitingAgent(storage, token).run("go", { agentId: "a" })).rejects.toMatchObject(refused);
    expect(await waitingAgent(storage).resume({ agentId: "a" })).toMatchObject({ status: "waiting" });
  });

  it("stays a text within a value", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await waitingAgent(storage).run(token, { agentId: "a" });
    await answer(storage);
    expect(await waitingAgent(storage).resume({ agentId: "a" })).toMatchObject({ output: token });
  });
});
