import { appendText, logTest, type RecordLogTest } from "./logTest.ts";

/** That an owner learns what others want, and what a closed storage does. */
export const stopTests: readonly RecordLogTest[] = [
  logTest("tells the owner to stop, which may still append", async (storage, expect) => {
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

  logTest("tells the owner to stop when another process asks", async (storage, expect) => {
    const owned = await storage.open("a");
    const beside = await storage.beside();
    if (beside === undefined) return;
    await beside.requestStop("a", "cancelled");
    expect.equal("whether the owner learns of it", await storage.aborted("a", owned.lost), true);
  }),

  logTest("does not stop the next owner for a request that came before it", async (storage, expect) => {
    await storage.log.requestStop("a", "no owner");
    await storage.own("a", (owned) => appendText(owned, "1"));
    await storage.log.requestStop("a", "no owner again");
    const owned = await storage.open("a");
    await storage.log.requestStop("b", "another");
    expect.equal("whether the owner is asked to stop", owned.lost.aborted, false);
    expect.equal("the position of its append", await appendText(owned, "2"), 2);
    expect.equal("whether it is asked to stop after that", owned.lost.aborted, false);
  }),

  logTest("refuses every call after close", async (storage, expect) => {
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

  logTest("releases what it holds when it is closed", async (storage, expect) => {
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
