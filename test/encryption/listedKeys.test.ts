import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { processOwner } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../src/testing/conformance/log/logTest.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { encryptedLog } from "./encryptedHarness.ts";

/** Lists the last of many agents, and returns how many summaries the storage below read. */
async function listLast(agents: number) {
  const stored = new InMemoryPersistenceStorageProvider().log;
  let read = 0;
  const counted = delegatingLog(stored, {
    async *list(options) {
      for await (const summary of stored.list(options)) {
        read++;
        yield summary;
      }
    },
  });
  const log = encryptedLog(counted);
  for (let n = 0; n < agents; n++) {
    const owned = await log.open(`a${n}`, processOwner());
    const { dueAt: _dueAt, ...summary } = exampleSummary(`a${n}`, "completed");
    await appendText(owned, "x", { summary: { ...summary, order: `${1_000 + n}` } });
    await owned.release();
  }
  read = 0;
  const listed = await collect(log.list({ after: `${1_000 + agents - 4}`, limit: 20 }));
  const everywhere = await collect(log.list());
  return { read, listed, everywhere };
}

it("the last page of an encrypted storage reads as many summaries for 60 agents as for 10", async () => {
  const [few, more] = [await listLast(10), await listLast(60)];
  expect([few, more].map(({ listed }) => listed.length)).toEqual([3, 3]);
  expect(more.everywhere).toHaveLength(60);
  expect(more.read - 60).toBe(few.read - 10);
});
