import { exportAgent } from "agent-persistence/transfer";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it, vi } from "vitest";
import { prunedRanges } from "../../src/checkpoint/pruning/liveEntries.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { bytesOf } from "./movedAgents.ts";

const owner = { host: "", processId: 1, nonce: "n" };

/** Stores one append of each owner and further appends of the first owner, more than an export keeps in memory. */
async function longLog(): Promise<MemoryRecordLog> {
  const log = new MemoryRecordLog();
  const first = await log.open("a", owner);
  const records = [{ kind: "note", text: "x".repeat(1024 * 1024) }];
  for (let at = 0; at < 17; at++) await first.append({ id: `1-${at + 1}`, records }, at);
  await first.release();
  const second = await log.open("a", owner);
  await second.append({ id: "2-18", records }, 17);
  await second.release();
  return log;
}

async function pruned(log: MemoryRecordLog): Promise<void> {
  const gaps = prunedRanges(await collect(log.read("a")));
  const third = await log.open("a", owner);
  const record = { kind: "pruned", upTo: 18, restated: [], gaps };
  await third.append({ id: "3-19", records: [record] }, 18);
  await third.release();
}

function beforeSecondRead(log: MemoryRecordLog, change: () => Promise<unknown>): void {
  const stored = log.encodedAppends.bind(log);
  let reads = 0;
  vi.spyOn(log, "encodedAppends").mockImplementation(async function* (...given) {
    if (++reads === 2) await change();
    yield* stored(...given);
  });
}

it("an export of a long log that is pruned between two reads rejects, although the last append stays", async () => {
  const log = await longLog();
  beforeSecondRead(log, () => pruned(log));
  const exported = bytesOf(exportAgent(new LogPersistenceStorageProvider(log), "a")).then(({ length }) => length);
  const message = expect.stringContaining("pruned during the export") as string;
  await expect(exported).rejects.toMatchObject({ code: "unreadable_value", message });
});
