import { expect, it } from "vitest";
import { encrypted, redaction } from "../../src/encryption.ts";
import { InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import type { AgentSummary, RecordLog } from "../../src/storage/RecordLog.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { collect } from "../storage/file/support/fixture.ts";

const vault = { keys: testKeys("first") };
const wrapped = {
  redacted: (storage: InMemoryPersistenceStorageProvider) => redaction({ paths: ["value"], vault }).storage(storage),
  encrypted: (storage: InMemoryPersistenceStorageProvider) => encrypted(storage, vault),
};

const summaryOf = (agentId: string, data: unknown): AgentSummary => ({
  agentId,
  status: "waiting",
  order: agentId,
  requestIds: [],
  position: 1,
  createdAt: "2026-11-27T00:00:00.000Z",
  updatedAt: "2026-11-27T00:00:00.000Z",
  data,
});

function nested(depth: number): unknown {
  let value: unknown = "[redacted:YQ.YQ.YQ]";
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { data: value };
  return value;
}

async function create(log: RecordLog, agentId: string, data: unknown): Promise<void> {
  const owned = await log.open(agentId, processOwner());
  const records = [{ kind: "note", lane: 1, key: "key", value: "secret" } as never];
  await owned.append({ id: "1", records, summary: summaryOf(agentId, data) }, 0);
  await owned.release();
}

it.each(["redacted", "encrypted"] as const)(
  "lists an agent of a %s storage whose forged summary is nested deeply as unreadable",
  async (kind) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const { log } = wrapped[kind](storage);
    await create(log, "a", { promptShownToUser: "a question" });
    await create(log, "c", { promptShownToUser: "a question" });
    const forged = { ...summaryOf("b", nested(100_000)), requestIds: nested(100_000) } as AgentSummary;
    const list = storage.log.list.bind(storage.log);
    storage.log.list = async function* (options) {
      for await (const summary of list(options)) {
        yield summary;
        if (summary.agentId === "a") yield forged;
      }
    };
    const found = (await collect(log.list())).filter(({ status }) => status !== "data_key");
    expect(found.map(({ agentId, status }) => [agentId, status])).toEqual([
      ["a", "waiting"],
      ["b", "unreadable"],
      ["c", "waiting"],
    ]);
    expect(found[1]?.data).toMatchObject({ code: "authentication_failed" });
  },
);
