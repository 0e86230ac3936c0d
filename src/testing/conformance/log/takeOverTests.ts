import type { OwnedLog, RecordLog } from "../../../storage/RecordLog.ts";
import type { Expectations } from "../../support/Expectations.ts";
import {
  appendText,
  exampleRecord,
  exampleSummary,
  logTest,
  type RecordLogTest,
  type RecordLogUnderTest,
} from "./logTest.ts";
import { filled, prunedRecord } from "./removalTests.ts";

/**
 * The number of seconds during which an owner renews its lease. With the lease of the file storage, this is several
 * leases.
 */
const manySeconds = 60;

export const takeOverTests: readonly RecordLogTest[] = [
  logTest("gives a silent owner's agent to another owner with a higher generation", async (storage, expect) => {
    const first = await filled(storage, 2);
    const { log, next } = await takeOver(storage, "a", first, expect);
    expect.isTrue("its generation", next.generation > first.generation, `above ${first.generation}`, next.generation);
    expect.equal("the position that it finds", next.position, 2);
    const { generation, state } = (await log.owner("a")) ?? {};
    expect.equal("the owner afterwards", [generation, state], [next.generation, "alive"]);
    await expect.rejects("a third open", () => log.open("a", storage.nextOwner()), "agent_busy");
    expect.equal("the position of its append", await appendText(next, "2"), 3);
    await storage.expectTexts("a", ["0", "1", "2"], expect);
  }),

  logTest("refuses another owner while the owner renews, even after a long time", async (storage, expect) => {
    const owned = await storage.open("a");
    const other = storage.log.capabilities.processes === "many" ? await storage.beside() : storage.log;
    for (let quarter = 0; quarter < 4; quarter++) {
      await expect.rejects("an open by another", () => other.open("a", storage.nextOwner()), "agent_busy");
      await storage.wait("a", manySeconds / 4);
    }
    await expect.rejects("an open by another", () => other.open("a", storage.nextOwner()), "agent_busy");
    expect.equal("the state of the owner", (await other.owner("a"))?.state, "alive");
    expect.equal("the position of its append", await appendText(owned, "still mine"), 1);
  }),

  logTest("rejects appends of a replaced owner and aborts its signal", async (storage, expect) => {
    const first = await filled(storage, 2);
    const { next } = await takeOver(storage, "a", first, expect);
    const late = (at: number) => () =>
      first.append({ id: `${first.generation}-${at + 1}`, records: [exampleRecord("late")] }, at);
    await expect.rejects("an append of the first owner at the end", late(2), "ownership_lost");
    expect.equal("whether the first owner is told", await storage.aborted("a", first.lost), true);
    const { code } = Object(first.lost.reason) as { readonly code?: unknown };
    expect.equal("what it is told", code, "ownership_lost");
    expect.equal("the position of the next append", await appendText(next, "2"), 3);
    for (const at of [2, 3]) await expect.rejectsAnyhow(`an append of the first owner at ${at}`, late(at));
    expect.equal("whether the next owner has lost it", next.lost.aborted, false);
    await storage.expectTexts("a", ["0", "1", "2"], expect);
    const generations = [first.generation, first.generation, next.generation];
    expect.equal("the generations", await storage.fields("a", "generation"), generations);
  }),

  logTest("does not stop the next owner after a stop request to a replaced owner", async (storage, expect) => {
    const first = await filled(storage, 1);
    const silenced = await storage.silence("a", first, expect);
    await silenced.requestStop("a", "too late");
    const next = await silenced.open("a", storage.nextOwner());
    await storage.wait("a", manySeconds / 4);
    expect.equal("whether the next owner is asked to stop", next.lost.aborted, false);
    expect.equal("the position of its append", await appendText(next, "1"), 2);
  }),

  logTest("keeps the next owner when a replaced owner releases", async (storage, expect) => {
    const first = await filled(storage, 1);
    const { log, next } = await takeOver(storage, "a", first, expect);
    await appendText(next, "1", { summary: exampleSummary("a", "in_progress") });
    // The release may reject or resolve.
    await first.release().catch(() => {});
    expect.equal("the owner after the release", (await log.owner("a"))?.generation, next.generation);
    await expect.rejects("an open after the release", () => log.open("a", storage.nextOwner()), "agent_busy");
    expect.equal("the position of the next append", await appendText(next, "2"), 3);
    expect.equal("the list", await storage.list(), [exampleSummary("a", "in_progress", { position: 2 })]);
    await storage.expectTexts("a", ["0", "1", "2"], expect);
  }),

  logTest("removes no data for a replaced owner", async (storage, expect) => {
    for (const agentId of ["a", "b"]) {
      const first = await filled(storage, 4, agentId);
      const entries = await storage.entries(agentId);
      const summary = exampleSummary(agentId, "queued");
      await first.append({ id: "pruning", records: [prunedRecord(entries, 1, 2)], summary }, 4);
      const { next } = await takeOver(storage, agentId, first, expect);
      const action = agentId === "a" ? () => first.prune() : () => first.drop();
      await expect.rejectsAnyhow(agentId === "a" ? "its prune" : "its drop", action);
      expect.equal("the position of the next append", await appendText(next, "5"), 6);
      expect.equal("the positions", await storage.positions(agentId), [3, 4, 5, 6]);
      expect.equal("the position of the summary", (await storage.list()).map(({ position }) => position).at(-1), 5);
    }
    expect.equal("the agents listed", await storage.listIds(), ["a", "b"]);
  }),
];

/** Replaces a silent owner on the instance that observed it. */
async function takeOver(
  storage: RecordLogUnderTest,
  agentId: string,
  first: OwnedLog,
  expect: Expectations,
): Promise<{ readonly log: RecordLog; readonly next: OwnedLog }> {
  const log = await storage.silence(agentId, first, expect);
  return { log, next: await log.open(agentId, storage.nextOwner()) };
}
