import type { ReadOptions } from "../../storage/RecordLog.ts";
import { appendText, logTest, type RecordLogTest, type RecordLogUnderTest } from "./logTest.ts";

const count = 20;
const snapshots = [6, 7, 15];

/** What reading gives, and that it disturbs no owner. */
export const readTests: readonly RecordLogTest[] = [
  logTest("reads what comes after a position, and up to one", async (storage, expect) => {
    await fill(storage);
    const bounds = [undefined, 0, 1, 7, 19, 20, 21];
    for (const after of bounds) for (const upTo of bounds) await expectRead(storage, expect, { after, upTo });
  }),

  logTest("begins at the newest snapshot when asked to", async (storage, expect) => {
    await fill(storage);
    const bounds = [undefined, 0, 4, 6, 7, 10, 14, 15, 16, 20, 21];
    for (const after of bounds) await expectRead(storage, expect, { after, sinceSnapshot: true });
    for (const upTo of bounds) await expectRead(storage, expect, { upTo, sinceSnapshot: true });
    await expectRead(storage, expect, { after: 8, upTo: 10, sinceSnapshot: true });
  }),

  logTest("begins at the start when there is no snapshot", async (storage, expect) => {
    await storage.own("a", async (owned) => {
      for (const text of ["1", "2", "3"]) await appendText(owned, text, { snapshot: false });
    });
    const positions = await storage.positions("a", { sinceSnapshot: true });
    expect.equal("the positions since the newest snapshot", positions, [1, 2, 3]);
  }),

  logTest("reads while it is owned, and takes nothing from the owner", async (storage, expect) => {
    const owned = await storage.open("a");
    for (let n = 1; n <= 5; n++) {
      await appendText(owned, String(n));
      expect.equal(`the positions after append ${n}`, await storage.positions("a"), range(1, n));
    }
    expect.equal("the owner", (await storage.log.owner("a"))?.generation, owned.generation);
    expect.equal("the position of the next append", await appendText(owned, "6"), 6);
  }),

  logTest("reads a beginning of the log while it grows", async (storage, expect) => {
    const owned = await storage.open("a");
    for (let n = 1; n <= 5; n++) await appendText(owned, String(n));
    const seen: number[] = [];
    for await (const { position } of storage.log.read("a")) {
      seen.push(position);
      if (seen.length <= 5) await appendText(owned, "more");
    }
    expect.equal("the positions seen", seen, range(1, seen.length));
    expect.isTrue("their number", seen.length >= 5, "at least 5", seen.length);
    expect.equal("the positions afterwards", await storage.positions("a"), range(1, 10));
  }),

  logTest("can be left in the middle of reading, and read twice at once", async (storage, expect) => {
    await fill(storage);
    for await (const { position } of storage.log.read("a")) if (position === 3) break;
    const [one, two] = await Promise.all([storage.positions("a"), storage.positions("a", { after: 10 })]);
    expect.equal("the positions of both", [one, two], [range(1, count), range(11, count)]);
  }),
];

async function fill(storage: RecordLogUnderTest): Promise<void> {
  for (const half of [0, 10]) {
    await storage.own("a", async (owned) => {
      for (let n = half + 1; n <= half + 10; n++)
        await appendText(owned, String(n), { snapshot: snapshots.includes(n) });
    });
  }
  await storage.reopen();
}

async function expectRead(
  storage: RecordLogUnderTest,
  expect: { equal(subject: string, found: unknown, expected: unknown): void },
  bounds: { readonly after?: number | undefined; readonly upTo?: number | undefined; readonly sinceSnapshot?: boolean },
): Promise<void> {
  const { after = 0, upTo = count, sinceSnapshot = false } = bounds;
  const newest = sinceSnapshot ? (snapshots.findLast((position) => position <= upTo) ?? 1) : 1;
  const options = Object.fromEntries(Object.entries(bounds).filter(([, value]) => value !== undefined)) as ReadOptions;
  const expected = range(Math.max(after + 1, newest), Math.min(upTo, count));
  expect.equal(`the positions read with ${JSON.stringify(options)}`, await storage.positions("a", options), expected);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
