import type { OwnedLog, RecordLog } from "../../../storage/RecordLog.ts";
import type { Expectations } from "../../support/Expectations.ts";
import {
  appendText,
  collect,
  exampleRecord,
  exampleSummary,
  logTest,
  type RecordLogTest,
  type RecordLogUnderTest,
} from "./logTest.ts";
import { putBlob } from "./blobTests.ts";
import { prunedRecord } from "./removalTests.ts";

/** The number of attempts to receive while another owner exists. */
const attempts = 20;

export const receiveTests: readonly RecordLogTest[] = [
  logTest(
    "returns the lines of a log up to a position, and another log stores them unchanged",
    async (storage, expect) => {
      await source(storage);
      const lines = await storage.lines("a");
      expect.equal("the number of lines up to 2", (await storage.lines("a", { upTo: 2 })).length, 2);
      expect.equal("the first lines", await storage.lines("a", { upTo: 2 }), lines.slice(0, 2));
      const expected = await storage.entries("a");
      const owned = await receive(storage, "b", lines, 2);
      expect.equal("the position of the log received", owned.position, 5);
      expect.isTrue("the generation of the log received", owned.generation > 2, "above 2", owned.generation);
      await appendText(owned, "after");
      await owned.release();
      await storage.reopen();
      expect.equal("the entries received", (await storage.entries("b")).slice(0, 4), expected);
      expect.equal("the lines received", (await storage.lines("b")).slice(0, 4), lines);
      expect.equal("the append after them", (await storage.entries("b"))[4]?.records, [exampleRecord("last")]);
      expect.equal("the agents listed", await storage.listIds({ status: "copied" }), ["b"]);
      expect.equal("the records at the snapshot", await storage.positions("b", { sinceSnapshot: true }), [3, 4, 5, 6]);
      const next = await storage.open("b");
      expect.equal("the position for the next owner", next.position, 6);
      expect.isTrue("its generation", next.generation > owned.generation, `above ${owned.generation}`, next.generation);
      await next.release();
      expect.equal("the entries of the first agent", await storage.entries("a"), expected);
    },
  ),

  logTest("requests the append after the lines with the right generation and position", async (storage, expect) => {
    await source(storage);
    const lines = await storage.lines("a");
    const asked: unknown[] = [];
    const owned = await storage.receive("b", { appends: lines, generation: 70 }, (end) => {
      asked.push(end);
      return last("b");
    });
    expect.equal("the arguments for the last append", asked, [{ generation: owned.generation, position: 4 }]);
    expect.isTrue("the generation", owned.generation > 70, "above 70", owned.generation);
    const [entry] = (await storage.entries("b")).slice(-1);
    expect.equal("the generation of the append", entry?.generation, owned.generation);
    await owned.release();
    await storage.own("b", async (next) => {
      expect.isTrue("the next generation", next.generation > owned.generation, "higher", next.generation);
    });
  }),

  logTest("omits pruned lines, and receives the other lines with the pruning record", async (storage, expect) => {
    await source(storage);
    const entries = await storage.entries("a");
    await storage.own("a", async (owned) => {
      await owned.append({ id: "pruning", records: [prunedRecord(entries, 3, 3)] }, 4);
    });
    const lines = await storage.lines("a");
    expect.equal("the number of lines", lines.length, 4);
    const owned = await receive(storage, "b", lines, 3);
    await owned.release();
    await storage.reopen();
    expect.equal("the positions received", await storage.positions("b"), [1, 2, 4, 5, 6]);
    await storage.own("a", (next) => next.prune());
    expect.equal("the lines after their bytes are removed", await storage.lines("a"), lines);
  }),

  logTest("receives no lines for an agent that has entries", async (storage, expect) => {
    await source(storage);
    const lines = await storage.lines("a");
    await storage.own("b", (owned) => appendText(owned, "own"));
    await expect.rejects("lines for an agent with entries", () => receive(storage, "b", lines, 2), "agent_exists");
    await storage.expectTexts("b", ["own"], expect);
  }),

  logTest("rejects damaged, unordered or incomplete lines without storing any", async (storage, expect) => {
    await source(storage);
    const lines = await storage.lines("a");
    const [first = new Uint8Array(), second = new Uint8Array(), third = new Uint8Array()] = lines;
    const altered = second.slice();
    altered[altered.length - 3] = (altered.at(-3) ?? 0) ^ 1;
    const broken = {
      "that are altered": [first, altered, ...lines.slice(2)],
      "in another order": [first, third, second],
      "with one left out": [first, third],
      "without the first": lines.slice(1),
      "given twice": [first, first],
      "that end inside an append": [first, second.slice(0, -9)],
      "with a line break": [first, new Uint8Array([...second, 10])],
      "of an empty list": [],
    };
    for (const [kind, given] of Object.entries(broken)) {
      await expect.rejects(`lines ${kind}`, () => receive(storage, "b", given, 2), "corrupt_log");
      await expectNothing(storage, "b", `after lines ${kind}`, expect);
    }
    const low = () => receive(storage, "b", lines, 1);
    await expect.rejects("lines of a higher generation than stated", low, "corrupt_log");
    await expect.rejects("a generation above 2^40", () => receive(storage, "b", lines, 2 ** 40 + 1), "corrupt_log");
    await expectNothing(storage, "b", "after a wrong generation", expect);
    await (await receive(storage, "b", lines, 2)).release();
    expect.equal("the number of entries at last", (await storage.entries("b")).length, 5);
  }),

  logTest("shows no entries of an agent until all of its lines are received", async (storage, expect) => {
    await source(storage);
    const lines = await storage.lines("a");
    async function* slowly() {
      for (const line of lines) {
        await expectNothing(storage, "b", "while its lines come", expect);
        await expect.rejects("a second owner", () => storage.open("b"), "agent_busy");
        yield line;
      }
    }
    const owned = await storage.receive("b", { appends: slowly(), generation: 2 }, async () => {
      await expectNothing(storage, "b", "before its last append", expect);
      return last("b");
    });
    expect.equal("the position at the end", owned.position, 5);
    await owned.release();
    async function* failing() {
      yield* lines.slice(0, 2);
      throw new RangeError("the source ended");
    }
    const error = await storage
      .receive("c", { appends: failing(), generation: 2 }, () => last("c"))
      .catch((cause: unknown) => cause);
    expect.isTrue("the error of the lines", error instanceof RangeError, "that of the source", error);
    await expectNothing(storage, "c", "after its lines failed", expect);
    await (await receive(storage, "c", lines, 2)).release();
    expect.equal("the entries of the second try", (await storage.entries("c")).length, 5);
  }),

  logTest("receives lines after an interrupted copy, whose lines are ignored", async (storage, expect) => {
    await source(storage);
    const lines = await storage.lines("a");
    const [first, beside] = [storage.log, await storage.beside()];
    let closed: Promise<void> | undefined;
    let second: OwnedLog | undefined;
    const copied = storage.receive("b", { appends: lines, generation: 2 }, async () => {
      closed = first.close();
      second = await receiveWhenFree(beside, storage, lines);
      return last("b");
    });
    const [end] = await Promise.allSettled([copied]);
    await closed;
    // A log may keep the agent owned until the copy finishes.
    if (second === undefined) return;
    expect.equal("the outcome of the interrupted copy", end.status, "rejected");
    const expected = [...lines.keys(), lines.length].map((index) => index + 1);
    const positions = (await collect(beside.read("b"))).map(({ position }) => position);
    expect.equal("the positions of the second copy", positions, expected);
    expect.equal("the position after an append", await appendText(second, "on"), lines.length + 2);
    await second.release();
  }),

  logTest("receives lines for the id of a removed agent", async (storage, expect) => {
    await source(storage);
    const lines = await storage.lines("a");
    const before = await storage.own("b", async (owned) => {
      for (const text of ["1", "2", "3", "4", "5", "6", "7"]) await appendText(owned, text);
      return owned.generation;
    });
    await (await storage.open("b")).drop();
    const owned = await receive(storage, "b", lines, 2);
    expect.isTrue("the generation", owned.generation > before + 1, `above ${before + 1}`, owned.generation);
    await owned.release();
    await storage.reopen();
    expect.equal("the positions", await storage.positions("b"), [1, 2, 3, 4, 5]);
  }),

  logTest("copies a blob to another agent under the same reference", async (storage, expect) => {
    const { blobs } = storage.log;
    const bytes = new TextEncoder().encode("shared");
    const reference = await putBlob(storage, "a", bytes);
    const unseen = reference.replace(/[0-9a-f]{4}/, "0000");
    await storage.own("b", async (owned) => {
      expect.equal("the result of copying a blob", await storage.copyBlob("a", reference, "b"), true);
      expect.equal("the result of copying an unknown blob", await storage.copyBlob("a", unseen, "b"), false);
      expect.equal(
        "the result of copying a blob of an unknown agent",
        await storage.copyBlob("none", reference, "b"),
        false,
      );
      expect.equal("the result of copying the blob again", await storage.copyBlob("a", reference, "b"), true);
      await appendText(owned, reference);
    });
    await blobs.delete("a", reference);
    expect.equal("the blob after the first agent deleted it", await blobs.get("b", reference), bytes);
    expect.equal("the blob of the first agent", await blobs.get("a", reference), undefined);
  }),
];

/** Fills agent `a` with three appends of one owner, one of them with a snapshot, and one append of the next owner. */
async function source(storage: RecordLogUnderTest): Promise<void> {
  await storage.own("a", async (owned) => {
    await appendText(owned, "one", { summary: exampleSummary("a", "running") });
    await appendText(owned, "two é😀");
    await appendText(owned, "three", { snapshot: true });
  });
  await storage.own("a", (owned) => appendText(owned, "four", { id: "an id of the user's" }));
}

/** Receives once the previous owner is gone. Returns `undefined` if the previous owner stays. */
async function receiveWhenFree(
  log: RecordLog,
  storage: RecordLogUnderTest,
  lines: readonly Uint8Array[],
): Promise<OwnedLog | undefined> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await log.receive?.("b", storage.nextOwner(), { appends: lines, generation: 2 }, () => last("b"));
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "agent_busy") throw error;
    }
  }
  return undefined;
}

function receive(
  storage: RecordLogUnderTest,
  agentId: string,
  lines: readonly Uint8Array[],
  generation: number,
): Promise<OwnedLog> {
  return storage.receive(agentId, { appends: lines, generation }, () => last(agentId));
}

function last(agentId: string) {
  return { id: "last", records: [exampleRecord("last")], summary: exampleSummary(agentId, "copied") };
}

async function expectNothing(
  storage: RecordLogUnderTest,
  agentId: string,
  when: string,
  expect: Expectations,
): Promise<void> {
  expect.equal(`the entries of ${agentId} ${when}`, await storage.entries(agentId), []);
  expect.equal(`the lines of ${agentId} ${when}`, await collect(storage.log.encodedAppends?.(agentId) ?? none()), []);
  const listed = await storage.listIds();
  expect.isTrue(`the agents listed ${when}`, !listed.includes(agentId), `all but ${agentId}`, listed);
}

async function* none(): AsyncGenerator<never> {}
