import type { LogOwner, OwnedLog, RecordLog } from "../../../storage/RecordLog.ts";
import {
  appendText,
  exampleSummary,
  logTest,
  type RecordLogTest,
  exampleRecord,
  type RecordLogUnderTest,
} from "./logTest.ts";
import type { Expectations } from "../../support/Expectations.ts";
import { filled, prunedRecord } from "./removalTests.ts";

export const ownershipTests: readonly RecordLogTest[] = [
  logTest("returns no data for an unknown agent", async (storage, expect) => {
    expect.equal("the result of read", await storage.entries("unseen"), []);
    expect.equal("the owner", await storage.log.owner("unseen"), undefined);
    expect.equal("the result of list", await storage.list(), []);
    await storage.own("seen", (owned) => appendText(owned, "x"));
    expect.equal("the result of read if another agent exists", await storage.entries("unseen"), []);
  }),

  logTest("opens an empty log at position 0 and reports its owner", async (storage, expect) => {
    const owner = storage.nextOwner();
    const owned = await storage.log.open("a", owner);
    expect.equal("the position", owned.position, 0);
    const isValid = Number.isSafeInteger(owned.generation) && owned.generation > 0;
    expect.isTrue("the generation", isValid, "above 0", owned.generation);
    expect.equal("whether the owner has lost it", owned.lost.aborted, false);
    // A storage may override the host and the process id of its caller.
    const { nonce, generation, state } = (await storage.log.owner("a")) ?? {};
    expect.equal("the owner", [nonce, generation, state], [owner.nonce, owned.generation, "alive"]);
    await owned.release();
    expect.equal("the owner of a released log", await storage.log.owner("a"), undefined);
  }),

  logTest("refuses a second owner while the first is alive, and reports the first", async (storage, expect) => {
    const owner = storage.nextOwner();
    const owned = await storage.log.open("a", owner);
    const error = await expect.rejects("a second open", () => storage.open("a"), "agent_busy");
    const { nonce } = (error as { readonly owner?: Partial<LogOwner> }).owner ?? {};
    expect.equal("the owner that the error names", nonce, owner.nonce);
    expect.equal("the position after it", await appendText(owned, "still mine"), 1);
    await owned.release();
    await storage.expectTexts("a", ["still mine"], expect);
  }),

  logTest("gives the agent to one of many concurrent callers", async (storage, expect) => {
    const opened = await Promise.allSettled(Array.from({ length: 8 }, () => storage.open("a")));
    const owners = opened.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const codes = opened.flatMap((result) => (result.status === "rejected" ? [codeOf(result.reason)] : []));
    expect.equal("the number of owners", owners.length, 1);
    expect.equal("the errors of the others", codes, Array<string>(7).fill("agent_busy"));
    for (const owned of owners) expect.equal("the position after an append", await appendText(owned, "x"), 1);
  }),

  logTest("shows the owner to a second process", async (storage, expect) => {
    const owner = storage.nextOwner();
    const owned = await storage.log.open("a", owner);
    const beside = await storage.beside();
    await expect.rejects("an open by another process", () => beside.open("a", storage.nextOwner()), "agent_busy");
    expect.equal("the owner that it sees", (await beside.owner("a"))?.nonce, owner.nonce);
    await owned.release();
    const next = await beside.open("a", storage.nextOwner());
    expect.isTrue("its generation", next.generation > owned.generation, `above ${owned.generation}`, next.generation);
    await expect.rejects("an open by the first process", () => storage.open("a"), "agent_busy");
    await next.release();
  }),

  logTest("is free after a release, which may be repeated", async (storage, expect) => {
    const first = await storage.open("a");
    await appendText(first, "1");
    await first.release();
    await first.release();
    const second = await storage.open("a");
    await first.release();
    const generation = (await storage.log.owner("a"))?.generation;
    expect.equal("the owner after the first released once more", generation, second.generation);
    await expect.rejects("a third open", () => storage.open("a"), "agent_busy");
    expect.equal("the position", second.position, 1);
  }),

  logTest("rejects appends of an owner after its release", async (storage, expect) => {
    const first = await storage.open("a");
    await appendText(first, "1");
    await first.release();
    await expect.rejectsAnyhow("an append after release", () => first.append({ id: "late", records: [] }, 1));
    await storage.own("a", async (second) => {
      await expect.rejectsAnyhow("an append while the next owner exists", () =>
        first.append({ id: "later", records: [] }, 1),
      );
      await appendText(second, "2");
    });
    await storage.expectTexts("a", ["1", "2"], expect);
  }),

  logTest(
    "gives each owner a higher generation and the last position of the previous owner",
    async (storage, expect) => {
      let before = 0;
      for (let turn = 0; turn < 12; turn++) {
        const owned = await storage.open("a");
        const { generation } = owned;
        expect.isTrue(`the generation of owner ${turn + 1}`, generation > before, `above ${before}`, generation);
        expect.equal(`the position that owner ${turn + 1} finds`, owned.position, turn);
        before = generation;
        await appendText(owned, String(turn));
        expect.equal(`the generation of its append`, (await storage.entries("a")).at(-1)?.generation, generation);
        await owned.release();
        await storage.reopen();
      }
      expect.equal("all positions", await storage.positions("a"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    },
  ),
];

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | undefined)?.code;
}

export const stopTests: readonly RecordLogTest[] = [
  logTest("reports a stop request to the owner, which may still append", async (storage, expect) => {
    const owned = await storage.open("a");
    const other = await storage.open("b");
    await storage.log.requestStop("a", "cancelled by é😀");
    expect.equal("whether the owner learns of it", await storage.aborted("a", owned.lost), true);
    const { code, reason, agentId } = owned.lost.reason as Readonly<Record<string, unknown>>;
    expect.equal("the reason", [code, reason, agentId], ["stop_requested", "cancelled by é😀", "a"]);
    expect.equal("whether another agent is stopped", other.lost.aborted, false);
    expect.equal("the position of an append after it", await appendText(owned, "last words"), 1);
    await owned.release();
    await storage.expectTexts("a", ["last words"], expect);
  }),

  logTest("reports the stop request of another process to the owner", async (storage, expect) => {
    const owned = await storage.open("a");
    const beside = await storage.beside();
    await beside.requestStop("a", "cancelled");
    expect.equal("whether the owner learns of it", await storage.aborted("a", owned.lost), true);
  }),

  logTest("reports a stop request of any process when the owner checks for it", async (storage, expect) => {
    const owned = await storage.open("a");
    await owned.checkStop?.();
    expect.equal("whether the owner is stopped without a request", owned.lost.aborted, false);
    await (await storage.beside()).requestStop("a", "another waits");
    await owned.checkStop?.();
    if (owned.checkStop) expect.equal("whether the owner learns of it", owned.lost.aborted, true);
    await owned.release();
    await owned.checkStop?.();
    const next = await storage.open("a");
    await next.checkStop?.();
    expect.equal("whether the next owner is stopped", next.lost.aborted, false);
  }),

  logTest("does not stop the next owner after a stop request to the previous owner", async (storage, expect) => {
    await storage.log.requestStop("a", "no owner");
    await storage.own("a", (owned) => appendText(owned, "1"));
    await storage.log.requestStop("a", "no owner again");
    const owned = await storage.open("a");
    await storage.log.requestStop("b", "another");
    expect.equal("whether the owner is asked to stop", owned.lost.aborted, false);
    expect.equal("the position of its append", await appendText(owned, "2"), 2);
    expect.equal("whether it is asked to stop after that", owned.lost.aborted, false);
  }),

  logTest("reports a release to each watcher until it is closed", async (storage, expect) => {
    let [told, toldLater] = [0, 0];
    const watch = await storage.watch(() => told++);
    const later = await storage.watch(() => toldLater++);
    await storage.own("a", (owned) => appendText(owned, "1", { summary: exampleSummary("a", "queued") }));
    expect.equal(
      "whether both watchers were called",
      await storage.happened("a", () => told > 0 && toldLater > 0),
      true,
    );
    await watch.close();
    const [before, seen] = [told, toldLater];
    await storage.own("a", (owned) => appendText(owned, "2", { summary: exampleSummary("a", "in_progress") }));
    expect.equal(
      "whether the other watcher was called again",
      await storage.happened("a", () => toldLater > seen),
      true,
    );
    expect.equal("the number of calls of the first watcher after it was closed", told - before, 0);
    await later.close();
  }),

  logTest("rejects every call after close", async (storage, expect) => {
    const owned = await storage.open("a");
    await appendText(owned, "1");
    const { log } = storage;
    await log.close();
    await expect.rejects("open", () => storage.open("b"), "storage_closed");
    await expect.rejects("read", () => storage.entries("a"), "storage_closed");
    await expect.rejects("list", () => storage.list(), "storage_closed");
    await expect.rejects("owner", () => log.owner("a"), "storage_closed");
    await expect.rejects("requestStop", () => log.requestStop("a", "late"), "storage_closed");
    await expect.rejectsAnyhow("an append of an owner", () => appendText(owned, "2"));
  }),

  logTest("releases all owned agents when it is closed", async (storage, expect) => {
    const owned = await storage.open("a");
    await appendText(owned, "1");
    const first = storage.log;
    const others = [await storage.open("b"), await storage.open("c")];
    await first.close();
    await storage.reopen();
    if (storage.log === first) return;
    for (const agentId of ["a", "b", "c"]) {
      expect.equal(`the owner of ${agentId} after close`, await storage.log.owner(agentId), undefined);
      await storage.own(agentId, (next) => appendText(next, "2"));
    }
    for (const other of others) await other.release();
    await storage.expectTexts("a", ["1", "2"], expect);
  }),
];

/** For how many seconds an owner renews its lease: several leases of the file storage. */
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
