import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { backupStorage, restoreBackup } from "../../src/backup.ts";
import { redaction } from "../../src/encryption.ts";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "../../src/index.ts";
import { inspect } from "../../src/inspect.ts";
import { sealed } from "../../src/seals.ts";
import { scriptedModel } from "../../src/testing.ts";
import { exportAgent, importAgent } from "../../src/transfer.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { testKey } from "../seals/sealedHarness.ts";
import { storedText } from "./redactedHarness.ts";

const keys = testKeys("first");
const secretText = "secret-in-an-archive";

async function stored(keyStorage?: InMemoryPersistenceStorageProvider, input = secretText) {
  const storage = new InMemoryPersistenceStorageProvider();
  const redact = redaction({ paths: ["input"], vault: { keys, keyStorage } });
  const agent = new AIAgent({ promptExecutor: scriptedModel(["done"]), llmModel: "scripted" });
  await agent.install(Persistence, { storage, redact }).run(input, { agentId: "a" });
  const directory = join(await testDirectory(), "backup");
  return { storage, redacted: redact.storage(storage), directory };
}

describe("archives of a redacted storage", () => {
  it.each(["redacted", "redacted and sealed"])("are refused for a storage that is %s", async (kind) => {
    const { redacted, directory } = await stored();
    const storage = kind === "redacted" ? redacted : sealed(redacted, { sign: testKey.sign, verify: testKey.verify });
    const refusal = { code: "not_supported", message: expect.stringContaining("pass the storage that") };
    await expect(collect(exportAgent(storage, "a"))).rejects.toMatchObject(refusal);
    await expect(collect(exportAgent(storage, "a", { move: true }))).rejects.toMatchObject(refusal);
    await expect(backupStorage(storage, { directory })).rejects.toMatchObject(refusal);
    expect(await collect(redacted.log.list())).toMatchObject([{ agentId: "a", status: "completed" }]);
  });

  it("contain the encrypted values of a backup, which omits data keys", async () => {
    const { storage, directory } = await stored();
    expect(await backupStorage(storage, { directory })).toEqual({
      written: ["a"],
      unchanged: [],
      deleted: [],
      failed: [],
    });
    const target = new InMemoryPersistenceStorageProvider();
    expect(await restoreBackup(target, { directory })).toMatchObject({ restored: ["a"], failed: [] });
    expect(await storedText(target)).toContain("[redacted:");
    expect(await storedText(target)).not.toContain(secretText);
  });

  it.each(["importAgent", "restoreBackup"])("are stored unchanged by %s in a redacted storage", async (operation) => {
    const keyStorage = new InMemoryPersistenceStorageProvider();
    const input = secretText.repeat(1_000);
    const { storage, directory } = await stored(keyStorage, input);
    const target = new InMemoryPersistenceStorageProvider();
    const redact = redaction({ paths: ["input"], vault: { keys, keyStorage } });
    if (operation === "importAgent") await importAgent(redact.storage(target), exportAgent(storage, "a"));
    else {
      await backupStorage(storage, { directory });
      expect(await restoreBackup(redact.storage(target), { directory })).toMatchObject({ restored: ["a"], failed: [] });
    }
    const [reference = ""] = /blob:[^"]+/.exec(await storedText(storage)) ?? [];
    expect(await target.log.blobs.get("a", reference)).toEqual(await storage.log.blobs.get("a", reference));
    const agent = new AIAgent({ promptExecutor: scriptedModel(["done"]), llmModel: "scripted" });
    agent.install(Persistence, { storage: target, redact });
    const last = (await persistence(agent).agent("a").getCheckpoints()).at(-1);
    expect(last?.messageHistory[0]).toEqual({ role: "user", content: input });
  });

  it("are imported if the path of a checked file contains a redacted value", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const redact = redaction({ paths: ["input"], vault: { keys } });
    const file = `/data/${secretText}.txt`;
    const agent = new AIAgent({
      promptExecutor: scriptedModel(["done"]),
      llmModel: "scripted",
      strategy: strategy<string, string>("checking", (graph) => {
        const check = graph.node("check", async (input: string, context) => {
          context.require({ files: [file] });
          return input;
        });
        graph.edge(graph.start, check);
        graph.edge(check, graph.finish);
      }),
    });
    const environment = {
      workingDirectory: "/data",
      hasDirectory: async () => true,
      hashOf: async () => "0".repeat(64),
      lookUp: async () => ({ satisfied: true }),
    };
    await agent.install(Persistence, { storage, redact, environment }).run(secretText, { agentId: "a" });
    expect(await storedText(storage)).not.toContain(secretText);
    expect(await inspect(storage).agent("a")).toMatchObject({ damage: [] });
    const target = new InMemoryPersistenceStorageProvider();
    await importAgent(target, exportAgent(storage, "a"));
    await importAgent(target, exportAgent(storage, "a"), { agentId: "b" });
    expect(await storedText(target)).not.toContain(secretText);
  });

  it("are refused by a redacted storage without their key", async () => {
    const { storage } = await stored(new InMemoryPersistenceStorageProvider());
    const target = new InMemoryPersistenceStorageProvider();
    const redact = redaction({ paths: ["input"], vault: { keys } });
    await expect(importAgent(redact.storage(target), exportAgent(storage, "a"))).rejects.toMatchObject({
      code: "key_missing",
    });
    expect(await collect(target.log.list())).toEqual([]);
  });

  it("are complete with a separate storage for the data keys", async () => {
    const keyStorage = new InMemoryPersistenceStorageProvider();
    const { storage, directory } = await stored(keyStorage);
    expect(await backupStorage(storage, { directory })).toMatchObject({ written: ["a"], failed: [] });
    const target = new InMemoryPersistenceStorageProvider();
    await restoreBackup(target, { directory });
    const { log } = redaction({ vault: { keys, keyStorage } }).storage(target);
    expect(JSON.stringify((await collect(log.read("a"))).map(({ records }) => records))).toContain(secretText);
  });
});
