import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent, Persistence, persistence, storageKey, strategy, tool } from "../../src/index.ts";
import { backupStorage } from "../../src/backup.ts";
import { encrypted, type KeySource } from "../../src/encryption.ts";
import { exportAgent } from "../../src/transfer.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import type { AgentSummary } from "../../src/storage/RecordLog.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { scriptedModel } from "../../src/testing.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { testKeys } from "./encryptedHarness.ts";
import { bytesUnder, openBooks } from "./storedBytes.ts";

/** Every kind of record. */
const kinds = [
  ..."task run lane message edit storage settings requirements decision structure answer intent outcome note".split(
    " ",
  ),
  ..."checkpoint name request reply status ended rollback rollback_step inverse reverted rollback_end".split(" "),
  ..."origin custody snapshot pruned shape event".split(" "),
];
const secretIn = (place: string) => `secret-of-${place}-in-the-test`;
const places = [
  ..."data input reserves controls taskName runId request stop blob gzip prompt user call result final state".split(
    " ",
  ),
  ..."error inbox session thread".split(" "),
];
const secrets = [...kinds, ...places].map(secretIn);

function summaryWithSecrets(agentId: string): AgentSummary {
  const now = "2026-01-01T00:00:00.000Z";
  return {
    agentId,
    status: "waiting",
    order: `${now} ${agentId}`,
    dueAt: now,
    requestIds: [secretIn("request")],
    position: 0,
    runId: secretIn("runId"),
    taskName: secretIn("taskName"),
    priority: 3,
    inputRequest: secretIn("input"),
    reserves: [{ path: secretIn("reserves"), operation: "read" }],
    controls: { queue: secretIn("controls") } as never,
    createdAt: now,
    updatedAt: now,
    data: { finalOutput: secretIn("data") },
  };
}

/** Stores a secret in each kind of record, each field of a summary, a reason and blobs, without an agent. */
async function plantInLog({ log }: LogPersistenceStorageProvider): Promise<void> {
  const owned = await log.open("log", processOwner());
  for (const [at, kind] of kinds.entries()) {
    const records = [{ kind, secret: secretIn(kind), ...(kind === "pruned" && { gaps: [] }) }];
    await owned.append({ id: `1-${at + 1}`, records, summary: summaryWithSecrets("log") }, at);
  }
  await log.requestStop("log", secretIn("stop"));
  const encode = (text: string) => new TextEncoder().encode(text);
  const references = [
    await log.blobs.put("log", owned.generation, encode(secretIn("blob"))),
    await log.blobs.put("log", owned.generation, encode(secretIn("gzip")), "gzip"),
  ];
  await owned.append(
    { id: "blobs", records: references.map((reference) => ({ kind: "note", reference })) },
    owned.position,
  );
  await owned.checkStop?.();
  expect((owned.lost.reason as { readonly reason?: unknown }).reason).toBe(secretIn("stop"));
  await owned.release();
}

/** Stores a secret in the logs of a session and of a thread. */
async function plantInLogs({ log }: LogPersistenceStorageProvider): Promise<void> {
  for (const shape of ["session", "thread"]) {
    const owned = await log.open(`${shape}:of`, processOwner());
    await owned.append(
      {
        id: "1-1",
        records: [{ kind: "item", value: secretIn(shape) } as never],
        summary: summaryWithSecrets(`${shape}:of`),
      },
      0,
    );
    await owned.release();
  }
}

/** Runs an agent whose prompts, calls, values and errors are secret. */
async function plantInAgent(storage: LogPersistenceStorageProvider): Promise<void> {
  const look = tool({
    name: "look",
    description: "Looks.",
    inputSchema: z.object({ what: z.string() }),
    effect: "none",
    execute: async () => secretIn("result"),
  });
  const kept = storageKey("kept", z.string());
  const agent = new AIAgent({
    promptExecutor: scriptedModel([
      { toolCalls: [{ toolName: "look", input: { what: secretIn("call") } }] },
      secretIn("final"),
    ]),
    llmModel: "scripted",
    systemPrompt: secretIn("prompt"),
    tools: [look],
  }).install(Persistence, { storage });
  await agent.run(secretIn("user"), { agentId: "runs" });
  const failing = new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    strategy: strategy<string, string>("fails", (graph) => {
      const keep = graph.node("keep", (input: string, context) => {
        context.storage.set(kept, secretIn("state"));
        return input;
      });
      const fail = graph.node("fail", (_input: string): string => {
        throw new Error(secretIn("error"));
      });
      graph.edge(graph.start, keep);
      graph.edge(keep, fail);
      graph.edge(fail, graph.finish);
    }),
  }).install(Persistence, { storage });
  await expect(failing.run("go", { agentId: "fails" })).rejects.toThrow(secretIn("error"));
  await persistence(agent).agent("runs").send("news", secretIn("inbox"));
}

/** Returns all bytes of a backup, and of the archives of the agents. */
async function archivesOf(storage: LogPersistenceStorageProvider, keys: KeySource | false): Promise<string> {
  const directory = join(await testDirectory(), "backup");
  const { failed } = await backupStorage(storage, { directory, keys });
  // Nobody can read the log with unknown records as an agent.
  expect(failed.filter(({ logId }) => logId !== "log")).toEqual([]);
  const exported = ["runs", "fails"].flatMap((agentId) =>
    [false, true].map((gzip) => exportAgent(storage, agentId, { keys, gzip })),
  );
  const archives = await Promise.all(exported.map((archive) => collect(archive)));
  return Buffer.concat([await bytesUnder(directory), ...archives.flat()]).toString("latin1");
}

describe("the archives and the backup of a storage", () => {
  it.each(["plain", "encrypted"])(
    "contain no secret once they are encrypted, of a storage that is %s",
    async (kind) => {
      const { storage: stored } = await (openBooks["in memory"] as NonNullable<(typeof openBooks)[string]>)();
      const keys = testKeys("first");
      const storage = kind === "plain" ? stored : encrypted(stored, { keys });
      await plantInLog(storage);
      await plantInLogs(storage);
      await plantInAgent(storage);
      const foundIn = (text: string) => secrets.filter((secret) => text.includes(secret));
      expect(foundIn(await archivesOf(storage, false)).length).toBeGreaterThan(40);
      expect(foundIn(await archivesOf(storage, keys))).toEqual([]);
    },
  );
});

describe.each(Object.entries(openBooks))("a storage %s", (_name, open) => {
  it("contains no secret once it is encrypted, and every secret without", { timeout: 60_000 }, async () => {
    expect(secrets.length).toBeGreaterThanOrEqual(50);
    const found: Record<string, readonly string[]> = {};
    for (const kind of ["plain", "encrypted"]) {
      const { storage: stored, bytes } = await open();
      const storage = kind === "plain" ? stored : encrypted(stored, { keys: testKeys("first") });
      await plantInLog(storage);
      await plantInLogs(storage);
      await plantInAgent(storage);
      const text = (await bytes()).toString("latin1");
      found[kind] = secrets.filter((secret) => text.includes(secret));
      const read = JSON.stringify([await collect(storage.log.read("log")), await collect(storage.log.list())]);
      expect([...kinds, "data", "reserves"].map(secretIn).filter((secret) => !read.includes(secret))).toEqual([]);
    }
    // A reason is stored until its owner has read it.
    const others = secrets.filter((secret) => secret !== secretIn("stop"));
    expect(others.filter((secret) => !found["plain"]?.includes(secret))).toEqual([]);
    expect(found["encrypted"]).toEqual([]);
  });
});
