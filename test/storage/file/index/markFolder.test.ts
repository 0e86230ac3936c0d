import { SimulatedFileSystem } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { Disk } from "../../../../src/nodejs/Disk.ts";
import { type Mark, sortKey } from "../../../../src/storage/file/index/MarkFolder.ts";
import { MarkFolder } from "../../../../src/storage/file/index/MarkFolder.ts";
import { seededNumbers } from "../../../../src/testing/powerLoss/RecordedTree.ts";
import { delegating } from "../../../powerloss/delegating.ts";
import { collect } from "../support/fixture.ts";
import { TestClock } from "../support/TestClock.ts";
import { cases } from "../../../soak/cases.ts";

const count = 2_000;
/** A folder takes about 256 marks: one that was filled unevenly has at most this many. */
const mostNames = 800;

const random = seededNumbers(7);
const number = (n: number) => String(n).padStart(5, "0");
const orders: readonly (readonly [string, number, (n: number) => string])[] = [
  ["rising keys", mostNames, number],
  // Folders that were filled first have marks for all those after them.
  ["keys in any order", 2 * mostNames, () => number(Math.floor(random() * 90_000))],
  ["rising keys of three priorities in turn", mostNames, (n) => `${["!", "2", "~"][n % 3] ?? ""}${number(n)}`],
  ["rising keys, few of them urgent", mostNames, (n) => `${n % 40 === 0 ? "!" : "2"}${number(n)}`],
];

/** Marks, and how many names are read for them. */
function marksOn(fileSystem: SimulatedFileSystem) {
  let names = 0;
  const counted = delegating(fileSystem, {
    readdir: async (path) => {
      const found = await fileSystem.readdir(path);
      names += found.length;
      return found;
    },
  });
  const folder = new MarkFolder(new Disk(counted, new TestClock()), "/marks", false);
  const namesFor = async (action: () => Promise<unknown>) => {
    const before = names;
    await action();
    return names - before;
  };
  return { folder, namesFor };
}

it.each(orders)(
  "%s: reading the first marks costs the same for any number, and all are sorted",
  async (_name, most, of) => {
    const fileSystem = new SimulatedFileSystem();
    const { folder, namesFor } = marksOn(fileSystem);
    const marks = Array.from({ length: count }, (_, n): Mark => ({
      key: sortKey(of(n)),
      folder: `agent-${n}`,
      position: 1,
      generation: 1,
    }));
    // Several at once, as an index is built.
    const added = await namesFor(async () => {
      for (let at = 0; at < count; at += 16)
        await Promise.all(marks.slice(at, at + 16).map((mark) => folder.add(mark)));
    });
    expect(added / count).toBeLessThan(50);
    const { folder: fresh, namesFor: cost } = marksOn(fileSystem);
    const found = await collect(fresh.read());
    const keys = marks.map(({ key }) => key).toSorted();
    expect(found.map(({ key }) => key)).toEqual(keys);
    expect(new Set(found.map(({ folder: name }) => name)).size).toBe(count);
    expect(
      await cost(async () => {
        const reading = fresh.read();
        await reading.next();
        await reading.return(undefined);
      }),
    ).toBeLessThan(most);
    // They are worked off from the first one on.
    const worst = [];
    for (const mark of found.slice(0, cases(60, 300))) {
      await fresh.remove(mark);
      worst.push(
        await cost(async () => {
          const reading = fresh.read();
          await reading.next();
          await reading.return(undefined);
        }),
      );
    }
    expect(Math.max(...worst)).toBeLessThan(most);
  },
);
