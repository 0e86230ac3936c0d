import { nextTurn } from "../../../internal/nextTurn.ts";
import { jsonValues, changeDeeply } from "../../support/jsonValues.ts";
import { appendText, exampleRecord, logTest, type RecordLogTest, exampleSummary } from "./logTest.ts";
import type { NewAgent } from "../../../storage/RecordLog.ts";

/** The number of appends that must each yield to the event loop. A due timer must fire during one of them. */
const savesInTurns = 200;

export const appendTests: readonly RecordLogTest[] = [
  logTest("numbers appends from 1 without gaps", async (storage, expect) => {
    await storage.own("a", async (owned) => {
      for (let n = 1; n <= 5; n++) {
        expect.equal(`the position of append ${n}`, await appendText(owned, String(n)), n);
        expect.equal(`the position of the log after append ${n}`, owned.position, n);
      }
      expect.equal("the positions read while owned", await storage.positions("a"), [1, 2, 3, 4, 5]);
    });
    await storage.expectTexts("a", ["1", "2", "3", "4", "5"], expect);
  }),

  logTest("rejects an append that expects another position, and does not store it", async (storage, expect) => {
    const owned = await storage.open("a");
    for (const text of ["1", "2", "3"]) await appendText(owned, text);
    for (const expected of [0, 1, 2, 4, 100]) {
      const append = { id: `other ${expected}`, records: [exampleRecord("refused")] };
      const call = () => owned.append(append, expected);
      const error = await expect.rejects(`an append at ${expected} of 3`, call, "position_conflict");
      const { expected: named, found } = error as { readonly expected?: unknown; readonly found?: unknown };
      expect.equal("the positions that the error names", [named, found], [expected, 3]);
    }
    expect.equal("the position of the next append", await appendText(owned, "4"), 4);
    await owned.release();
    await storage.expectTexts("a", ["1", "2", "3", "4"], expect);
  }),

  logTest("stores an append once if it is repeated with the same id at the same position", async (storage, expect) => {
    const append = (n: number) => ({ id: `append ${n}`, records: [exampleRecord(String(n))] });
    await storage.own("a", async (owned) => {
      for (const n of [1, 2, 3]) await owned.append(append(n), n - 1);
      for (const n of [3, 3, 1, 2]) expect.equal(`append ${n} again`, await owned.append(append(n), n - 1), n);
      await expect.rejects("append 2 at another position", () => owned.append(append(2), 0), "position_conflict");
      expect.equal("the position of the next append", await owned.append(append(4), 3), 4);
    });
    await storage.reopen();
    await storage.own("a", async (next) => {
      expect.equal("append 4 again, by the next owner", await next.append(append(4), 3), 4);
      expect.equal("the position after it", next.position, 4);
    });
    await storage.expectTexts("a", ["1", "2", "3", "4"], expect);
  }),

  logTest("links each append to the previous one, even across owners", async (storage, expect) => {
    for (const text of ["1", "2", "3"]) {
      await storage.own("a", async (owned) => {
        await appendText(owned, text);
        await appendText(owned, "the same in all");
      });
      await storage.reopen();
    }
    const checksums = await storage.fields("a", "checksum");
    const before = await storage.fields("a", "prev");
    expect.equal("the checksum that each append names as the one before", before, ["", ...checksums.slice(0, -1)]);
    expect.equal("the number of different checksums", new Set(checksums.filter((text) => text !== "")).size, 6);
  }),

  logTest("keeps ids unchanged", async (storage, expect) => {
    const ids = ["1-1", "1-3", "99-1", "given", "é😀", "", " ", "__proto__", "a/b", '"', "\n", "x".repeat(300)];
    await storage.own("a", async (owned) => {
      for (const id of ids) await appendText(owned, id, { id });
    });
    expect.equal("the ids", await storage.fields("a", "id"), ids);
  }),

  logTest("keeps all records of an append in order", async (storage, expect) => {
    const sizes = [0, 1, 2, 500];
    const records = (size: number) => Array.from({ length: size }, (_, n) => exampleRecord(n));
    await storage.own("a", async (owned) => {
      for (const size of sizes) await owned.append({ id: `of ${size}`, records: records(size) }, owned.position);
    });
    expect.equal("the records", await storage.fields("a", "records"), sizes.map(records));
  }),

  ...Object.entries(jsonValues).map(([kind, make]) =>
    logTest(`keeps ${kind}`, async (storage, expect) => {
      await storage.own("a", async (owned) => {
        await owned.append({ id: "1", records: [exampleRecord(make())] }, 0);
        await appendText(owned, "after it");
      });
      await storage.reopen();
      expect.equal("the record", (await storage.entries("a"))[0]?.records, [exampleRecord(make())]);
      await storage.own("a", (owned) => appendText(owned, "later"));
    }),
  ),

  logTest("stores the original entry if the caller changes it during the append", async (storage, expect) => {
    const owned = await storage.open("a");
    for (const n of [0, 1]) {
      const records = [exampleRecord({ list: [n] }), exampleRecord(`text ${n}`)];
      const append = owned.append({ id: `append ${n}`, records }, n);
      changeDeeply(records);
      await append;
    }
    const given = [0, 1].map((n) => [exampleRecord({ list: [n] }), exampleRecord(`text ${n}`)]);
    expect.equal("the records", await storage.fields("a", "records"), given);
  }),

  logTest("does not change the entry of the caller", async (storage, expect) => {
    const records = [exampleRecord({ list: [1, { deep: true }] })];
    await storage.own("a", (owned) => owned.append({ id: "x", records }, 0));
    expect.equal("the records after the append", records, [exampleRecord({ list: [1, { deep: true }] })]);
  }),

  logTest("keeps stored entries when a reader changes its copy", async (storage, expect) => {
    await storage.own("a", (owned) => appendText(owned, "1", { records: [exampleRecord({ list: [1] })] }));
    const before = structuredClone(await storage.entries("a"));
    changeDeeply(await storage.entries("a"));
    expect.equal("the entries read again", await storage.entries("a"), before);
  }),

  logTest("keeps 500 small appends", async (storage, expect) => {
    const texts = Array.from({ length: 500 }, (_, n) => `text ${n}`);
    for (let from = 0; from < texts.length; from += 50) {
      await storage.own("a", async (owned) => {
        for (const text of texts.slice(from, from + 50)) await appendText(owned, text);
      });
    }
    await storage.reopen();
    await storage.expectTexts("a", texts, expect);
  }),

  logTest("yields to the event loop during each append", async (storage, expect) => {
    const owned = await storage.open("a");
    let turns = 0;
    let appending = true;
    const count = async () => {
      for (; appending; turns++) await nextTurn();
    };
    const counting = count();
    for (let n = 1; n <= savesInTurns; n++) await appendText(owned, String(n));
    appending = false;
    await counting;
    expect.isTrue("the turns while it appends", turns >= savesInTurns, `at least ${savesInTurns}`, turns);
  }),
];

/** Ids that a storage could confuse or sort differently. */
const ids = ["b", "B", "b ", "é😀", "a\0b", "10", "9"];

export const createTests: readonly RecordLogTest[] = [
  logTest("creates several agents with one append each, which nobody owns", async (storage, expect) => {
    expect.equal(
      "the created agents",
      await storage.createMany(ids.map(newAgent)),
      ids.map(() => true),
    );
    expect.equal("no agents to create", await storage.createMany([]), []);
    await storage.reopen();
    for (const agentId of ids) {
      await storage.expectTexts(agentId, [agentId], expect);
      expect.equal("its owner", await storage.log.owner(agentId), undefined);
      const [entry] = await storage.entries(agentId);
      expect.equal("its append", [entry?.position, entry?.id, entry?.prev], [1, "1-1", ""]);
    }
    const summaries = await storage.list({ status: "queued" });
    const expected = ids.map((agentId) => ({ ...exampleSummary(agentId, "queued", orderOf(agentId)), position: 1 }));
    const byId = (one: { readonly agentId: string }, other: { readonly agentId: string }) =>
      one.agentId < other.agentId ? -1 : 1;
    expect.equal("the summaries", summaries.toSorted(byId), expected.toSorted(byId));
    const next = await storage.open("b");
    expect.equal("the position and generation of the first owner", [next.position, next.generation], [1, 2]);
    await appendText(next, "after");
    await next.release();
    await storage.expectTexts("b", ["b", "after"], expect);
  }),

  logTest("creates no agent that exists, existed or has an owner", async (storage, expect) => {
    await storage.own("stored", (owned) => appendText(owned, "first"));
    await storage.own("deleted", async (owned) => {
      await appendText(owned, "first");
      await owned.drop();
    });
    const owned = await storage.open("owned");
    const agents = ["stored", "new", "deleted", "owned"].map(newAgent);
    expect.equal("the created agents", await storage.createMany(agents), [false, true, false, false]);
    expect.equal(
      "the created agents of a second call",
      await storage.createMany(agents),
      agents.map(() => false),
    );
    await storage.expectTexts("stored", ["first"], expect);
    await storage.expectTexts("new", ["new"], expect);
    for (const agentId of ["deleted", "owned"]) await storage.expectTexts(agentId, [], expect);
    expect.equal("the listed agents", await storage.listIds({ status: "queued" }), ["new"]);
    expect.equal("the append of the owner", await appendText(owned, "mine"), 1);
    await owned.release();
    await storage.expectTexts("owned", ["mine"], expect);
  }),

  logTest("reports agents as created even if the response was lost", async (storage, expect) => {
    await storage.own("stored", (owned) => appendText(owned, "first"));
    const agents = ["a", "stored", "b"].map(newAgent);
    if (storage.log.createMany) await storage.loseAnswer();
    const outcome = await storage.settle("a", () => storage.createMany(agents));
    if (outcome.status === "rejected") throw outcome.reason;
    expect.equal("the created agents", outcome.value, [true, false, true]);
    for (const agentId of ["a", "b"]) await storage.expectTexts(agentId, [agentId], expect);
    await storage.expectTexts("stored", ["first"], expect);
  }),
];

function newAgent(agentId: string): NewAgent {
  const summary = exampleSummary(agentId, "queued", orderOf(agentId));
  return { agentId, append: { id: "1-1", records: [exampleRecord(agentId)], summary } };
}

function orderOf(agentId: string) {
  return { order: `1 ${agentId}` };
}
