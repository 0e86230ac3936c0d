import { describe, expect, it } from "vitest";
import { foldLine, foldTo } from "../../../src/checkpoint/state/foldTo.ts";
import { branch, checkpoint, extended, lane, projectionOf, run, subAgent } from "../support/projection.ts";

/** A fork at checkpoint 2 with the branches a (lane 2) and b (lane 3). */
const forked = () =>
  projectionOf(
    [run, lane(1, { keep: "nothing" }), checkpoint(1, 1)],
    [checkpoint(1, 2, { node: "both" })],
    [...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])],
  );

const openLanes = (index: ReturnType<typeof projectionOf>) => index.lines.openLanes;

describe("the open lines", () => {
  it("are empty for an empty log, and only the main line if it has no nested lines", () => {
    expect(openLanes(projectionOf())).toEqual([]);
    expect(projectionOf().lines.isOpen(0)).toBe(false);
    expect(openLanes(projectionOf([run, lane(1), checkpoint(1, 1)]))).toEqual([1]);
  });

  it("are the main line and its branches, in any order of progress", () => {
    const index = extended(forked(), [checkpoint(3, 5)], [checkpoint(2, 6, { ended: true })]);
    expect(openLanes(index)).toEqual([1, 2, 3]);
    expect([1, 2, 3, 4].map((each) => index.lines.isOpen(each))).toEqual([true, true, true, false]);
    expect(index.latest?.version).toBe(2);
    expect(index.latestOf(3)?.version).toBe(5);
    expect(index.statusState.checkpoint?.record.version).toBe(2);
  });

  it("are closed by the join, but not by a checkpoint within the visit of the fork", () => {
    const within = extended(forked(), [checkpoint(1, 5, { node: "both", visit: [2, 1] })]);
    expect(openLanes(within)).toEqual([1, 2, 3]);
    expect(openLanes(extended(within, [checkpoint(1, 6, { joined: 2 })]))).toEqual([1]);
  });

  it("name the fork of the open branches, even if another lane continues the visit", () => {
    expect([1, 2].map((each) => forked().lines.openForkOn(each))).toEqual([2, undefined]);
    const anew = extended(
      forked(),
      [lane(4, { from: 2 }), checkpoint(4, 5, { node: "both", visit: [2, 0] }), ...branch(5, 6, [4, 5, "a"])],
      [checkpoint(4, 7, { node: "both", visit: [2, 0] })],
    );
    expect(anew.lines.openForkOn(4)).toBe(5);
    expect(extended(anew, [checkpoint(4, 8, { joined: 5 })]).lines.openForkOn(4)).toBeUndefined();
    expect(extended(forked(), [...subAgent(4, 5, [2, "call"])]).lines.openForkOn(2)).toBeUndefined();
  });

  it("belong to the newest lane of each place", () => {
    const moved = extended(forked(), [...branch(4, 5, [1, 2, "a"], { from: 3 })]);
    expect(openLanes(moved)).toEqual([1, 4, 3]);
    expect(moved.lines.isOpen(2)).toBe(false);
    expect(moved.lines.lineOf({ parent: 1, fork: 2, branch: "a" })).toMatchObject({ first: 2, lane: 4 });
    expect(moved.lines.branchesOf(2).map((line) => line.lane)).toEqual([4, 3]);
  });

  it("nest to any depth, and close with their parent line", () => {
    const deep = () =>
      extended(
        forked(),
        [checkpoint(2, 5, { node: "inner" })],
        [...branch(4, 6, [2, 5, "x"]), ...subAgent(5, 7, [3, "call"])],
        [...subAgent(6, 8, [4, "deeper"])],
      );
    expect(openLanes(deep())).toEqual([1, 2, 3, 4, 5, 6]);
    const moved = extended(deep(), [lane(7, { from: 2 }), checkpoint(7, 9, { visit: [2, 0] })]);
    expect(openLanes(moved)).toEqual([7]);
    expect([1, 2, 6].some((each) => moved.lines.isOpen(each))).toBe(false);
    const joined = extended(deep(), [checkpoint(2, 9, { joined: 5 })]);
    expect(openLanes(joined)).toEqual([1, 2, 3, 5]);
  });

  it("include a called agent until the visit of its call ends", () => {
    const index = projectionOf(
      [run, lane(1, { keep: "nothing" })],
      [...subAgent(2, 1, [1, "c1"])],
      [checkpoint(1, 2, { visit: [-1, 0] })],
      [...subAgent(3, 3, [1, "c2"])],
    );
    expect(openLanes(index)).toEqual([1, 2, 3]);
    expect(index.lines.lineOf({ parent: 1, call: "c2" })?.lane).toBe(3);
    expect(index.lines.lineOf({ parent: 2, call: "c2" })).toBeUndefined();
    expect(openLanes(extended(index, [checkpoint(1, 4)]))).toEqual([1]);
  });

  it("exclude a line whose parent lane is missing", () => {
    const index = projectionOf([run, lane(3), checkpoint(3, 1)], [...branch(4, 2, [2, 1, "a"])]);
    expect(openLanes(index)).toEqual([3]);
    expect(index.lines.isOpen(4)).toBe(false);
    expect(openLanes(extended(index, [lane(5, { from: 1 }), checkpoint(5, 3)]))).toEqual([5]);
  });

  it("are found among 10,000 branches without reading the others", () => {
    const index = projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);
    for (let at = 0; at < 10_000; at++) extended(index, [...branch(at + 2, at + 2, [1, 1, `${at}`])]);
    expect(index.lines.branchesOf(1)).toHaveLength(10_000);
    expect(index.lines.lineOf({ parent: 1, fork: 1, branch: "9999" })?.lane).toBe(10_001);
    expect(openLanes(index)).toHaveLength(10_001);
    extended(index, [checkpoint(1, 20_000, { joined: 1 })]);
    expect(openLanes(index)).toEqual([1]);
  });
});

describe("the state of a line", () => {
  const message = (on: number, number: number) =>
    ({ kind: "message", lane: on, number, message: { role: "user", content: `m${number}` } }) as const;
  const stored = (on: number, key: string, value: unknown) => ({ kind: "storage", lane: on, key, value }) as const;

  it("belongs to the main line by default", () => {
    const index = extended(forked(), [message(3, 1), checkpoint(3, 5)]);
    expect(foldTo(index)).toMatchObject({ lane: 1, history: [], checkpoint: { version: 2 } });
    expect(foldLine(index, 3)).toMatchObject({ lane: 3, history: [{ number: 1 }], checkpoint: { version: 5 } });
  });

  it("starts with the whole fork, without its messages, or empty", () => {
    const settings = { kind: "settings", lane: 1, model: "m", tools: [] } as const;
    const index = projectionOf(
      [run, lane(1, { keep: "nothing" }), settings, message(1, 1), stored(1, "k", 7), checkpoint(1, 1)],
      [...branch(2, 2, [1, 1, "all"]), ...branch(3, 3, [1, 1, "fresh"], { keep: "state" })],
      [...subAgent(4, 4, [1, "c"]), stored(1, "later", 1), message(3, 2)],
    );
    const of = (on: number) => {
      const { history = [], storage, settings: set } = foldLine(index, on) ?? {};
      return [history.map(({ number }) => number), Object.fromEntries(storage ?? []), set?.model];
    };
    expect(of(2)).toEqual([[1], { k: 7 }, "m"]);
    expect(of(3)).toEqual([[2], { k: 7 }, "m"]);
    expect(of(4)).toEqual([[], {}, undefined]);
  });

  it("is undefined if its fork was not read", () => {
    const index = projectionOf([run, lane(3, { keep: "nothing" }), checkpoint(3, 5)], [...branch(4, 6, [3, 2, "a"])]);
    expect(foldLine(index, 4)).toBeUndefined();
  });
});

describe("the calls that a rollback reverted", () => {
  it("belong to its checkpoint, not to a checkpoint of another line in between", () => {
    const index = extended(
      forked(),
      [checkpoint(2, 5)],
      [{ kind: "rollback", target: 3, calls: ["c"], closed: ["c"] }],
      [checkpoint(3, 6)],
      [{ kind: "reverted", call: "c" }],
      [checkpoint(3, 7)],
      [...branch(4, 8, [1, 2, "a"], { from: 3 }), { kind: "rollback_end", target: 3 }],
    );
    expect([...index.closedBy]).toEqual([[8, ["c"]]]);
  });
});
