import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  tool,
} from "../../src/index.ts";
import { markRestored } from "../../src/backup.ts";
import { destroyKey, encryptedStreams, type KeySource, redaction, reencrypt, secret } from "../../src/encryption.ts";
import { inspect } from "../../src/inspect.ts";
import { InMemoryStreamStore, Streams } from "../../src/streams.ts";
import { TaskManager } from "../../src/task.ts";
import { scriptedModel } from "../../src/testing.ts";
import { keyOf, testKeys } from "../encryption/encryptedHarness.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { storedText } from "./redactedHarness.ts";

const secretText = "secret-in-the-vault";

const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.object({ what: secret(z.string()).optional() }),
  effect: "idempotent",
  execute: ({ what }) => ({ found: `${what} was found`, token: secretText }),
});

function agentOn(storage: PersistenceStorageProvider, keys: KeySource = testKeys("first"), turns = 2) {
  const call = { toolCalls: [{ toolName: "look", input: { what: secretText } }] };
  const redact = redaction({ vault: { keys } });
  const agent = new AIAgent({
    promptExecutor: scriptedModel([...Array.from({ length: turns - 1 }, () => call), "done"]),
    llmModel: "scripted",
    tools: [look],
  }).install(Persistence, { storage, redact });
  return { agent, redact };
}

/** A stored agent whose run failed after a call. */
async function unfinished(): Promise<InMemoryPersistenceStorageProvider> {
  const storage = new InMemoryPersistenceStorageProvider();
  const failing = new AIAgent({
    promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "look", input: { what: secretText } }] }]),
    llmModel: "scripted",
    tools: [look],
    modelRetry: false,
  }).install(Persistence, { storage, redact: redaction({ vault: { keys: testKeys("first") } }) });
  await expect(failing.run("go", { agentId: "a" })).rejects.toMatchObject({ code: expect.any(String) });
  return storage;
}

describe("a vault", () => {
  it("reports a missing key as key_missing, and leaves the agent unchanged", async () => {
    const storage = await unfinished();
    const before = await storedText(storage);
    const { agent } = agentOn(storage, testKeys("second"));
    await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "key_missing", keyId: "first" });
    expect(await storedText(storage)).toBe(before);
    await expect(agentOn(storage).agent.resume({ agentId: "a" })).resolves.toMatchObject({ output: "done" });
  });

  it("reports another key under the same id as authentication_failed", async () => {
    const storage = await unfinished();
    const keys: KeySource = { current: "first", get: () => keyOf("other") };
    await expect(agentOn(storage, keys).agent.resume({ agentId: "a" })).rejects.toMatchObject({
      code: "authentication_failed",
    });
  });

  it("loses its values when the key is destroyed, and the agent can still be deleted and created again", async () => {
    const storage = await unfinished();
    const { agent, redact } = agentOn(storage);
    await destroyKey(redact.storage(storage), "a");
    const later = agentOn(storage).agent;
    await expect(later.resume({ agentId: "a" })).rejects.toMatchObject({ code: "key_missing", keyId: undefined });
    expect(await collect(persistence(later).unfinished({ includeFailed: true }))).toMatchObject([{ agentId: "a" }]);
    await persistence(later).deleteAgent("a");
    await expect(agent.run("again", { agentId: "a" })).resolves.toMatchObject({ output: "done" });
    expect(await storedText(storage)).not.toContain(secretText);
  });

  it("destroys the key of a deleted agent", async () => {
    const storage = await unfinished();
    const { agent } = agentOn(storage);
    await persistence(agent).deleteAgent("a");
    expect(await collect(storage.log.list())).toEqual([]);
  });

  it("encrypts its keys with a new key", async () => {
    const storage = await unfinished();
    const { redact } = agentOn(storage, testKeys("second", "first"));
    expect(await collect(reencrypt(redact.storage(storage)))).toEqual([{ agentId: "a", changed: true }]);
    await expect(agentOn(storage, testKeys("second")).agent.resume({ agentId: "a" })).resolves.toMatchObject({
      output: "done",
    });
  });

  it("keeps its keys in another storage", async () => {
    const [storage, keyStorage] = [new InMemoryPersistenceStorageProvider(), new InMemoryPersistenceStorageProvider()];
    const redact = redaction({ vault: { keys: testKeys("first"), keyStorage } });
    const agent = new AIAgent({
      promptExecutor: scriptedModel([{ toolCalls: [{ toolName: "look", input: { what: secretText } }] }, "done"]),
      llmModel: "scripted",
      tools: [look],
    }).install(Persistence, { storage, redact });
    await agent.run("go", { agentId: "a" });
    expect((await collect(storage.log.list())).map(({ agentId }) => agentId)).toEqual(["a"]);
    expect((await collect(keyStorage.log.list())).map(({ status }) => status)).toEqual(["data_key"]);
  });

  it("keeps its data keys out of the lists of an inspector, and out of the agents that are marked as restored", async () => {
    const storage = await unfinished();
    expect((await collect(storage.log.list())).map(({ agentId }) => agentId)).toEqual(["a", "data_key:a"]);
    expect((await collect(inspect(storage).agents())).map(({ agentId }) => agentId)).toEqual(["a"]);
    expect(await markRestored(storage)).toEqual({ marked: ["a"], failed: [] });
  });

  it("restores the values of a fork", async () => {
    const storage = await unfinished();
    const { agent } = agentOn(storage);
    await persistence(agent).agent("a").fork("b");
    await expect(agentOn(storage).agent.resume({ agentId: "b" })).resolves.toMatchObject({ output: "done" });
    const [checkpoint] = (await persistence(agent).agent("b").getCheckpoints()).slice(-1);
    expect(JSON.stringify(checkpoint?.messageHistory)).toContain(`"what":"${secretText}"`);
    expect(await storedText(storage, "b")).not.toContain(secretText);
  });

  it("refuses the value of another agent, and a forged origin", async () => {
    const storage = await unfinished();
    const [token = ""] = /\[redacted:[^\]]+\]/.exec(await storedText(storage)) ?? [];
    const { agent, redact } = agentOn(storage);
    const owned = await storage.log.open("b", { host: "h", processId: 1, nonce: "n" });
    await owned.append({ id: "1", records: [{ kind: "note", value: token } as never] }, 0);
    await owned.release();
    const { log } = redact.storage(storage);
    await expect(collect(log.read("b"))).rejects.toMatchObject({ code: "authentication_failed", agentId: "b" });
    await persistence(agent).agent("a").fork("c");
    const keyOfFork = (await collect(storage.log.read("data_key:c"))).flatMap(({ records }) => records);
    expect(keyOfFork).toMatchObject([{ agentId: "c", forkOf: ["a"] }]);
    const forged = await storage.log.open("data_key:b", { host: "h", processId: 1, nonce: "n" });
    await forged.append({ id: "1", records: [{ ...keyOfFork[0], agentId: "b" } as never] }, 0);
    await forged.release();
    await expect(collect(log.read("b"))).rejects.toMatchObject({ code: "authentication_failed", agentId: "b" });
  });

  it("restores the values of a fork of a fork, until its original loses its key", async () => {
    const storage = await unfinished();
    await persistence(agentOn(storage).agent).agent("a").fork("b");
    await persistence(agentOn(storage).agent).agent("b").fork("c");
    const { agent, redact } = agentOn(storage);
    const history = async () =>
      JSON.stringify((await persistence(agent).agent("c").getCheckpoints()).at(-1)?.messageHistory);
    expect(await history()).toContain(secretText);
    await destroyKey(redact.storage(storage), "a");
    await expect(agentOn(storage).agent.resume({ agentId: "c" })).rejects.toMatchObject({
      code: "key_missing",
      agentId: "a",
    });
  });

  it("does not decrypt a text that looks like a redacted value", async () => {
    const storage = await unfinished();
    const [token = ""] = /\[redacted:[^\]]+\]/.exec(await storedText(storage)) ?? [];
    const { agent } = agentOn(storage, testKeys("first"), 1);
    await agent.run(`Repeat ${token}`, { agentId: "b" });
    const [last] = (await persistence(agentOn(storage).agent).agent("b").getCheckpoints()).slice(-1);
    expect(last?.messageHistory[0]).toEqual({ role: "user", content: `Repeat ${token}` });
  });

  it("refuses a changed value", async () => {
    const storage = await unfinished();
    const redact = redaction({ vault: { keys: testKeys("first") } });
    const { log } = redact.storage(storage);
    const text = JSON.stringify((await collect(storage.log.read("a"))).map(({ records }) => records));
    const [token = ""] = /\[redacted:[^\]]+\]/.exec(text) ?? [];
    const changed = token.replace(/.\]$/, (end) => (end.startsWith("A") ? "BB]" : "AA]"));
    const owned = await storage.log.open("c", { host: "h", processId: 1, nonce: "n" });
    await owned.append({ id: "1", records: [{ kind: "note", value: changed } as never] }, 0);
    await owned.release();
    await expect(collect(log.read("c"))).rejects.toMatchObject({ code: "authentication_failed" });
  });

  it("refuses to run an agent without its vault, and leaves the agent unchanged", async () => {
    const storage = await unfinished();
    const before = await storedText(storage);
    const agent = new AIAgent({
      promptExecutor: scriptedModel(["done"]),
      llmModel: "scripted",
      tools: [look],
    }).install(Persistence, { storage });
    await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "not_supported" });
    await expect(agent.run("other", { agentId: "a" })).rejects.toMatchObject({ code: "not_supported" });
    expect(await storedText(storage)).toBe(before);
    await persistence(agent).deleteAgent("a");
    expect(await storedText(storage)).toBe("");
  });

  it("redacts the input, the output and the events of a task", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const events: unknown[] = [];
    const redact = redaction({ paths: ["input.card", "output.receipt"], vault: { keys: testKeys("first") } });
    const tasks = new TaskManager({ storage, redact, onEvent: (event) => void events.push(event) });
    const inputRequest = { card: secretText };
    const { taskId } = await tasks.create({ taskName: "pay", inputRequest });
    expect(await tasks.get(taskId)).toMatchObject({ inputRequest });
    await tasks.start(taskId);
    await tasks.complete(taskId, { output: { receipt: "receipt-of-the-task" } });
    expect(await tasks.get(taskId)).toMatchObject({ data: { finalOutput: { receipt: "receipt-of-the-task" } } });
    const texts = [
      await storedText(storage, taskId),
      JSON.stringify(await collect(storage.log.list())),
      JSON.stringify(events),
    ];
    for (const text of texts) expect(text).not.toMatch(`${secretText}|receipt-of-the-task`);
    expect(texts[2]).toContain("[redacted]");
  });

  it("encrypts the responses that a model streams", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const store = new InMemoryStreamStore();
    const redact = redaction({ vault: { keys: testKeys("first") } });
    const agent = new AIAgent({
      promptExecutor: {
        execute: async () => ({ message: { role: "assistant", content: secretText } }),
        stream: async (_request, onDelta) => {
          onDelta({ type: "text-delta", text: secretText });
          await kept;
          return { message: { role: "assistant", content: secretText } };
        },
      },
      llmModel: "scripted",
    })
      .install(Persistence, { storage, redact })
      .install(Streams, { store, batchDelayMs: 0 });
    const append = store.append.bind(store);
    const kept = new Promise<unknown>((resolve) => {
      store.append = async (...given) => {
        await append(...given);
        resolve(given);
      };
    });
    await agent.run("go", { agentId: "a" });
    expect(JSON.stringify(await kept)).not.toContain(secretText);
  });

  it("encrypts streams with its keys", async () => {
    const storage = await unfinished();
    const store = new InMemoryStreamStore();
    const encrypted = encryptedStreams(store, agentOn(storage).redact.storage(storage));
    await encrypted.append("a", { writer: 1, first: 1, chunks: [secretText] });
    expect(JSON.stringify(await store.read("a"))).not.toContain(secretText);
    expect(await encrypted.read("a")).toMatchObject([{ chunks: [secretText] }]);
  });
});
