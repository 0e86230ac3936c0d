import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { collect } from "../storage/file/support/fixture.ts";

const redact = () => redaction({ paths: ["answer.pin"], vault: { keys: testKeys("first") } });

/** An agent that asks for a PIN twice. */
function askingAgent(storage: InMemoryPersistenceStorageProvider, isRedacted: boolean) {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    strategy: strategy<string, string>("ask", (graph) => {
      const ask = graph.node("ask", async (_input: string, context) => {
        const schema = z.object({ pin: z.string() });
        const { pin } = await context.requestInput({ prompt: "The first PIN?", schema });
        await context.requestInput({ prompt: "The second PIN?", schema });
        return pin;
      });
      graph.edge(graph.start, ask);
      graph.edge(ask, graph.finish);
    }),
  }).install(Persistence, { storage, ...(isRedacted && { redact: redact() }) });
}

async function answer(agent: ReturnType<typeof askingAgent>): Promise<void> {
  const durable = persistence(agent).agent("a");
  const [request] = await durable.getRequests();
  await durable.answer(request?.requestId ?? "", { pin: "4711" });
}

describe("an agent that started without redaction", () => {
  it("is refused by a process without the vault after the vault was used", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await askingAgent(storage, false).run("go", { agentId: "a" });
    await answer(askingAgent(storage, true));
    await expect(askingAgent(storage, false).resume({ agentId: "a" })).rejects.toMatchObject({
      code: "not_supported",
      message: expect.stringContaining("the vault of its option `redact`"),
    });
    expect((await askingAgent(storage, true).resume({ agentId: "a" })).status).toBe("waiting");
    await answer(askingAgent(storage, true));
    const resumed = await askingAgent(storage, true).resume({ agentId: "a" });
    expect(resumed).toMatchObject({ status: "completed", output: "4711" });
    await expect(askingAgent(storage, false).run("again", { agentId: "a" })).rejects.toMatchObject({
      code: "not_supported",
    });
  });

  it("has a mark that readers with the vault do not see", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await askingAgent(storage, false).run("go", { agentId: "a" });
    await answer(askingAgent(storage, true));
    const marked = async ({ log }: Pick<InMemoryPersistenceStorageProvider, "log">) =>
      (await collect(log.read("a"))).flatMap(({ records }) => records).filter((record) => "vault" in record);
    expect((await marked(storage)).map(({ kind }) => kind)).toEqual(["reply"]);
    expect(await marked(redact().storage(storage) as never)).toEqual([]);
  });

  it("can still run without the vault if no process has used it", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await askingAgent(storage, false).run("go", { agentId: "a" });
    expect(await persistence(askingAgent(storage, true)).agent("a").getRequests()).toHaveLength(1);
    await answer(askingAgent(storage, false));
    expect((await askingAgent(storage, false).resume({ agentId: "a" })).status).toBe("waiting");
  });
});

describe("an event of a process with a vault", () => {
  it("is received by a process with the vault, and refused by others", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const options = { paths: ["payload.pin"], vault: { keys: testKeys("first") } };
    const receiving = (isRedacted: boolean) =>
      new AIAgent({
        promptExecutor: scriptedModel([]),
        llmModel: "scripted",
        strategy: strategy<string, string>("receive", (graph) => {
          const receive = graph.node("receive", async (_input: string, context) => {
            const { pin } = await context.receive("news", { schema: z.object({ pin: z.string() }) });
            return pin;
          });
          graph.edge(graph.start, receive);
          graph.edge(receive, graph.finish);
        }),
      }).install(Persistence, { storage, ...(isRedacted && { redact: redaction(options) }) });
    await receiving(false).run("go", { agentId: "a" });
    await persistence(receiving(true)).agent("a").send("news", { pin: "4711" });
    await expect(receiving(false).resume({ agentId: "a" })).rejects.toMatchObject({ code: "not_supported" });
    expect(await receiving(true).resume({ agentId: "a" })).toMatchObject({ status: "completed", output: "4711" });
  });
});
