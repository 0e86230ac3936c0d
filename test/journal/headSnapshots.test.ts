import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { expect, it } from "vitest";
import type { AgentRecord } from "../../src/checkpoint/records/AgentRecord.ts";
import { Journal } from "../../src/journal/Journal.ts";
import { readHead } from "../../src/storage/readHead.ts";
import { branch, checkpoint, lane, run } from "../checkpoint/support/projection.ts";

const message = (number: number, content: string): AgentRecord => ({
  kind: "message",
  lane: 2,
  number,
  message: { role: "user", content },
});

it("a snapshot of a pruned log contains a record once that is appended while the log is read", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const journal = await Journal.open({
    storage,
    agentId: "a",
    clock: new SimulatedClock(),
    maxCheckpointBytes: Infinity,
  });
  const pruned = { kind: "pruned", upTo: 0, restated: [], nextNumber: 1, blobs: [] } as unknown as AgentRecord;
  await journal.store([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);
  await journal.store([pruned]);
  await journal.store([checkpoint(1, 2, { node: "both" }), ...branch(2, 3, [1, 2, "a"])]);
  const storing = (value: string): AgentRecord => ({ kind: "storage", lane: 2, key: "k", value });
  await journal.store([message(1, "first"), storing("x".repeat(2 ** 21)), storing("x"), checkpoint(2, 4)]);
  journal.headSnapshots.makeIfDue();
  journal.append([message(2, "once"), checkpoint(2, 5)]);
  await journal.headSnapshots.making;
  await journal.durable();
  const { log, lines } = await readHead(storage.log, "a");
  expect(log.index.base).toBeDefined();
  expect([...lines.values()].map(({ history }) => history.map(({ number }) => number))).toEqual([[1, 2]]);
  await journal[Symbol.asyncDispose]();
});
