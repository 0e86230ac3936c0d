import { describe, expect, it } from "vitest";
import { blindToSuccessors } from "../powerloss/store/brokenFileSystems.ts";
import { delegating } from "../powerloss/delegating.ts";
import { Contention, type Belief, type Wrap } from "./Contention.ts";
import { exploreOrders } from "./explore.ts";
import { cases, wholeSoak } from "../soak/cases.ts";

const mostStates = wholeSoak ? Number.POSITIVE_INFINITY : cases(200, 15_000);

/** The first owner appended, and is believed dead. Two open the log at once. */
const twoContenders = (belief: Belief, wrap?: Wrap) => async (): Promise<Contention> => {
  const contention = new Contention(belief, wrap);
  await dies(contention);
  for (const name of ["second", "third"]) {
    await contention.start(
      name,
      async () => undefined,
      async (_log, owned) => {
        await contention.append(owned, name);
      },
    );
  }
  return contention;
};

/** The first owner was paused, and wakes up between any two calls of the one that takes its place. */
const sleeperAndOther = (act: "appends" | "compacts", wrap?: Wrap) => async (): Promise<Contention> => {
  const contention = new Contention("the first owner", wrap);
  await contention.start(
    "first",
    async (log) => {
      const owned = await contention.open(log, "first");
      for (const text of ["a", "b"]) await contention.append(owned, text);
      return owned;
    },
    async (_log, owned) => {
      if (act === "compacts") await owned.prune();
      for (const text of ["late", "later"]) await contention.append(owned, text);
    },
  );
  await contention.start(
    "second",
    async () => undefined,
    async (_log, owned) => {
      for (const text of ["c", "d"]) await contention.append(owned, text);
    },
  );
  return contention;
};

async function dies(contention: Contention): Promise<void> {
  await contention.start(
    "first",
    async (log) => {
      const owned = await contention.open(log, "first");
      for (const text of ["a", "b"]) await contention.append(owned, text);
      return owned;
    },
    async () => {},
  );
}

const renames: Wrap = (fileSystem) => delegating(fileSystem, { link: (from, to) => fileSystem.rename(from, to) });

describe("the file storage, in every order of the calls of two processes", () => {
  it.each([
    {
      name: "two that both believe the first owner to be dead",
      begin: twoContenders("the first owner"),
      atMost: mostStates,
    },
    { name: "a paused owner that wakes up and appends", begin: sleeperAndOther("appends"), atMost: mostStates },
    { name: "a paused owner that wakes up and compacts", begin: sleeperAndOther("compacts"), atMost: mostStates },
    // They take over from each other again and again: too many orders to try them all.
    {
      name: "two that believe everybody else to be dead",
      begin: twoContenders("everybody else"),
      atMost: cases(200, 15_000),
    },
  ])("loses no acknowledged data, whenever they end or power is lost: $name", async ({ begin, atMost }) => {
    const { found, states } = await exploreOrders(begin, atMost);
    expect(found).toBeUndefined();
    expect(states).toBeGreaterThanOrEqual(Math.min(atMost, 500));
  });

  const mistakes = [
    ["no check after the sync, against a paused owner", sleeperAndOther("appends", blindToSuccessors)],
    ["rename instead of link", sleeperAndOther("compacts", renames)],
    ["no check after the sync, among two contenders", twoContenders("everybody else", blindToSuccessors)],
  ] as const;

  // The last one takes the longest to find.
  it.each(wholeSoak ? mistakes : mistakes.slice(0, -1))("fails the check with %s", async (_name, begin) => {
    expect((await exploreOrders(begin)).found).toMatch("was acknowledged and is gone");
  });
});
