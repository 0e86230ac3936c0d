import type { Entry, LogRecord } from "../../../checkpoint/records/Entry.ts";
import type { OwnedLog } from "../../../storage/RecordLog.ts";
import { appendText, exampleSummary, logTest, type RecordLogTest, type RecordLogUnderTest } from "./logTest.ts";

export const removalTests: readonly RecordLogTest[] = [
  logTest("prunes only the positions that a stored record names", async (storage, expect) => {
    const owned = await filled(storage, 8);
    await owned.prune();
    expect.equal("the number of appends after a prune that no record names", (await storage.positions("a")).length, 8);
    const entries = await storage.entries("a");
    await owned.append({ id: "pruning", records: [prunedRecord(entries, 2, 4)] }, 8);
    await owned.prune();
    const kept = [1, 5, 6, 7, 8, 9];
    expect.equal("the positions after the prune", await storage.positions("a"), kept);
    const expected = entries.filter(({ position }) => kept.includes(position));
    expect.equal("the entries kept", (await storage.entries("a")).slice(0, -1), expected);
    expect.equal("the positions after 2, up to 6", await storage.positions("a", { after: 2, upTo: 6 }), [5, 6]);
    expect.equal("the position of the next append", await appendText(owned, "10"), 10);
    await owned.release();
    await storage.reopen();
    expect.equal("the positions after reopening", await storage.positions("a"), [...kept, 10]);
  }),

  logTest("skips the positions that a stored record names, even before they are removed", async (storage, expect) => {
    const owned = await filled(storage, 8);
    const entries = await storage.entries("a");
    await owned.append({ id: "pruning", records: [prunedRecord(entries, 2, 4)] }, 8);
    const expectPassedOver = async (when: string) => {
      expect.equal(`the positions ${when}`, await storage.positions("a"), [1, 5, 6, 7, 8, 9]);
      const part = await storage.positions("a", { after: 1, upTo: 6 });
      expect.equal(`the positions after 1, up to 6, ${when}`, part, [5, 6]);
      expect.equal(`the positions up to 3, ${when}`, await storage.positions("a", { upTo: 3 }), [1]);
    };
    await expectPassedOver("once the record is stored");
    await owned.release();
    await storage.reopen();
    await expectPassedOver("after reopening");
    await storage.own("a", (next) => next.prune());
    await expectPassedOver("after the prune");
  }),

  logTest("removes the bytes of pruned appends, even if an earlier prune did not run", async (storage, expect) => {
    const owned = await filled(storage, 8);
    const entries = await storage.entries("a");
    expect.equal("the unremoved bytes before a record names an append", await storage.unremovedBytes("a"), 0);
    await owned.append({ id: "pruning", records: [prunedRecord(entries, 2, 4)] }, 8);
    const named = await storage.unremovedBytes("a");
    expect.isTrue("the unremoved bytes after a record names appends", named > 0, "above 0", named);
    await owned.prune();
    expect.equal("the unremoved bytes after the prune", await storage.unremovedBytes("a"), 0);
    await owned.append({ id: "pruning more", records: [prunedRecord(entries, 5, 6)] }, 9);
    await owned.release();
    await storage.reopen();
    const left = await storage.unremovedBytes("a");
    expect.isTrue("the unremoved bytes of a prune that did not happen", left > 0, "above 0", left);
    await storage.own("a", (next) => next.prune());
    expect.equal("the unremoved bytes after the next prune", await storage.unremovedBytes("a"), 0);
    expect.equal("the positions", await storage.positions("a"), [1, 7, 8, 9, 10]);
  }),

  logTest("keeps its owner after a prune", async (storage, expect) => {
    const owned = await filled(storage, 3);
    await owned.append({ id: "pruning", records: [prunedRecord(await storage.entries("a"), 1, 2)] }, 3);
    await owned.prune();
    expect.equal("the position", owned.position, 4);
    expect.equal("the generation of the owner", (await storage.log.owner("a"))?.generation, owned.generation);
    await expect.rejects("a second open", () => storage.open("a"), "agent_busy");
    const early = () => owned.append({ id: "x", records: [] }, 3);
    await expect.rejects("an append at a position before", early, "position_conflict");
    await owned.release();
    await storage.own("a", (next) => appendText(next, "5"));
    expect.equal("the positions", await storage.positions("a"), [3, 4, 5]);
  }),

  logTest("removes an agent with all its data and keeps other agents", async (storage, expect) => {
    const owned = await filled(storage, 3);
    await appendText(owned, "4", { summary: exampleSummary("a", "queued") });
    const { blobs } = storage.log;
    const reference = await blobs.put("a", owned.generation, new Uint8Array([1]));
    await storage.own("aa", (other) => appendText(other, "other", { summary: exampleSummary("aa", "queued") }));
    await owned.drop();
    await expect.rejectsAnyhow("an append after drop", () => owned.append({ id: "late", records: [] }, 4));
    await owned.release();
    await storage.reopen();
    expect.equal("the result of read", await storage.entries("a"), []);
    expect.equal("the agents listed", await storage.listIds(), ["aa"]);
    expect.equal("the owner", await storage.log.owner("a"), undefined);
    expect.equal("a blob of the agent", await storage.log.blobs.get("a", reference), undefined);
    await storage.expectTexts("aa", ["other"], expect);
  }),

  logTest(
    "continues positions and generations when the id of a removed agent is used again",
    async (storage, expect) => {
      let [position, generation] = [0, 0];
      for (const count of [3, 0, 2]) {
        const owned = await filled(storage, count);
        expect.equal("the position", owned.position, position + count);
        expect.isTrue("the generation", owned.generation > generation, `above ${generation}`, owned.generation);
        [position, generation] = [owned.position, owned.generation];
        await owned.drop();
        await storage.reopen();
      }
      await storage.own("a", async (owned) => {
        expect.equal("the position of the new log", owned.position, 5);
        for (const at of [0, 2, 4]) {
          const late = () => owned.append({ id: "3-1", records: [] }, at);
          await expect.rejects(`a late append at ${at}`, late, "position_conflict");
        }
        expect.equal("the position of its first append", await appendText(owned, "new"), 6);
      });
      const [first, ...more] = await storage.entries("a");
      expect.equal("the first append", [first?.position, first?.prev, more.length], [6, "", 0]);
    },
  ),
];

export async function filled(storage: RecordLogUnderTest, count: number, agentId = "a"): Promise<OwnedLog> {
  const owned = await storage.open(agentId);
  for (let n = 0; n < count; n++) await appendText(owned, String(n));
  return owned;
}

/** Returns a record that removes positions from a log. The checksums of the record link the entries around the gap. */
export function prunedRecord(entries: readonly Entry[], first: number, last: number): LogRecord {
  const checksumAt = (position: number) => entries.find((entry) => entry.position === position)?.checksum ?? "";
  const record = { kind: "pruned", gaps: [{ first, last, before: checksumAt(first - 1), after: checksumAt(last) }] };
  return record;
}
