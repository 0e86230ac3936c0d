import type { LogTable, TableAppend, TablePage, TableSighting } from "../../../storage/table/LogTable.ts";
import type { Expectations } from "../../support/Expectations.ts";
import { logTest, type RecordLogTest } from "./logTest.ts";

const claim = { owner: "{}", beat: "0" };

/** Tests that a table rejects outdated owners and positions, which no test of the log can provoke. */
export const tableTests: readonly RecordLogTest[] = [
  logTest("a table stores an append only for its owner and directly after the last append", async (storage, expect) => {
    const { table } = storage;
    const generation = (await claimed(table)) ?? 0;
    const append = (position: number, text: string, by = generation) => table.append("a", by, appendOf(position, text));
    expect.equal("the append at 2 of an empty log", await append(2, "too far"), false);
    expect.equal("the append at 1", await append(1, "first"), true);
    expect.equal("another append at 1", await append(1, "again"), false);
    expect.equal("the append at 3 behind the one at 1", await append(3, "too far"), false);
    expect.equal("an append of another generation", await append(2, "stranger", generation + 1), false);
    await expectRows(table, ["first"], expect);
    expect.equal("the append at 2", await append(2, "second"), true);
    expect.equal("another append at 1, behind the one at 2", await append(1, "late"), false);
    await expectRows(table, ["first", "second"], expect);
  }),

  logTest("a table accepts a claim only if the observed owner is unchanged", async (storage, expect) => {
    const { table } = storage;
    expect.equal("the first claim", await claimed(table), 1);
    const seen = await sightingOf(table);
    expect.equal("a claim while the agent has an owner", await claimed(table), undefined);
    await table.renew("a", 1, "1");
    expect.equal("a claim with an observation from before the renewal", await claimed(table, seen), undefined);
    const renewed = await sightingOf(table);
    const ofAnother = { ...renewed, generation: 2 };
    expect.equal("a claim with an observation of a missing generation", await claimed(table, ofAnother), undefined);
    expect.equal("the generation of the current owner", (await table.head("a"))?.generation, 1);
    expect.equal("a claim with a current observation", await claimed(table, renewed), 2);
    expect.equal("the same claim again", await claimed(table, renewed), undefined);
    await table.release("a", 2);
    expect.equal("a claim after the release", await claimed(table), 3);
  }),

  logTest(
    "a table that returns the end of the log with a claim returns the end that its rows have",
    async (storage, expect) => {
      const { table } = storage;
      const endOf = async (generation: number) => {
        const found = await table.claim("a", claim);
        expect.equal("the generation", generationOf(found), generation);
        const last = await table.rows("a", { after: 0, last: true });
        if (typeof found === "object") expect.equal("the end", shownEnd(found.last), shownEnd(last));
      };
      await endOf(1);
      await table.append("a", 1, appendOf(1, "first"));
      await table.append("a", 1, appendOf(2, "second"));
      await table.release("a", 1);
      await endOf(2);
      await table.drop("a", 2);
      await endOf(3);
    },
  ),

  logTest("a table releases an owner with an append only if it stores the append", async (storage, expect) => {
    const { table } = storage;
    const append = (position: number, text: string, generation: number) =>
      table.appendAndRelease
        ? table.appendAndRelease("a", generation, appendOf(position, text))
        : appendThenRelease(table, generation, appendOf(position, text));
    await table.claim("a", claim);
    expect.equal("an append at a wrong position", await append(2, "too far", 1), false);
    expect.equal("an append of another generation", await append(1, "stranger", 2), false);
    expect.isTrue("the owner after both", (await table.head("a"))?.owner !== undefined, "an owner", undefined);
    expect.equal("the append of the owner", await append(1, "first", 1), true);
    expect.equal("the owner after it", (await table.head("a"))?.owner, undefined);
    expect.equal("the same append again", await append(1, "first", 1), false);
    const { agents } = await table.list({ limit: 10 });
    expect.equal("the listed summaries", agents.map(({ text }) => text).join(), "first");
    expect.equal("the next claim", await claimed(table), 2);
    await expectRows(table, ["first"], expect);
  }),

  logTest("a table ignores all calls of a replaced owner", async (storage, expect) => {
    const { table } = storage;
    await table.claim("a", claim);
    await table.append("a", 1, appendOf(1, "first"));
    await table.claim("a", claim, await sightingOf(table));
    expect.equal("the renewal of the replaced owner", await table.renew("a", 1, "9"), undefined);
    expect.equal("the removal by the replaced owner", await table.remove("a", 1, [[1, 1]]), false);
    expect.equal("the drop by the replaced owner", await table.drop("a", 1), false);
    await table.requestStop("a", 1, "late");
    await table.release("a", 1);
    const head = await table.head("a");
    expect.isTrue("the next owner", head?.generation === 2 && head.owner !== undefined, "generation 2", head);
    expect.equal("the stop request of the next owner", (await table.renew("a", 2, "1"))?.stop, undefined);
    await expectRows(table, ["first"], expect);
    await table.requestStop("a", 2, "soon");
    expect.equal("the later stop request of the next owner", (await table.renew("a", 2, "2"))?.stop, "soon");
  }),
];

async function appendThenRelease(table: LogTable, generation: number, append: TableAppend): Promise<boolean> {
  if (!(await table.append("a", generation, append))) return false;
  await table.release("a", generation);
  return true;
}

function appendOf(position: number, text: string): TableAppend {
  const summary = { status: text, order: "1", updatedAt: 0, text };
  return { position, encoded: new TextEncoder().encode(text), snapshot: false, pruned: false, summary };
}

async function claimed(table: LogTable, replaced?: TableSighting): Promise<number | undefined> {
  return generationOf(await table.claim("a", claim, replaced));
}

function generationOf(claimed: Awaited<ReturnType<LogTable["claim"]>>): number | undefined {
  return typeof claimed === "object" ? claimed.generation : claimed;
}

function shownEnd({ start, rows, end }: TablePage): readonly unknown[] {
  return [start, end, rows.map(({ position, encoded }) => [position, new TextDecoder().decode(encoded)])];
}

async function sightingOf(table: LogTable) {
  const { generation = 0, beat = "" } = (await table.head("a")) ?? {};
  return { generation, beat };
}

async function expectRows(table: LogTable, texts: readonly string[], expect: Expectations): Promise<void> {
  const { rows } = await table.rows("a", { after: 0 });
  const found = rows.map(({ position, encoded: line }) => [position, new TextDecoder().decode(line)]);
  expect.equal(
    "the appends",
    found,
    texts.map((text, index) => [index + 1, text]),
  );
  const { agents } = await table.list({ limit: 10 });
  expect.equal(
    "the summaries",
    agents.map(({ text }) => text),
    texts.slice(-1),
  );
}
