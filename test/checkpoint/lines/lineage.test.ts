import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placesBelow, placesLeft, placesOnWay, placesUpTo } from "../../../src/checkpoint/lines/lineage.ts";
import { originOf, type CheckpointPoint } from "../../../src/checkpoint/records/lineRecords.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { branch, checkpoint, extended, lane, projectionOf, run, subAgent } from "../support/projection.ts";
import { cases } from "../../soak/cases.ts";

interface Place {
  readonly lane: number;
  readonly order: number;
}

type Log = ReturnType<typeof projectionOf>;

const all = ({ laneRecords }: Log): readonly Place[] =>
  [...laneRecords].flatMap(([on, records]) => records.map(({ order }) => ({ lane: on, order })));

const note = (on: number) => ({ kind: "note", lane: on, key: "k", value: 1 }) as const;

/** What an index says, in words that follow the definition, and as slowly as it takes. */
class Oracle {
  constructor(readonly index: Log) {}

  place(of: number) {
    return this.index.lanes.get(of)?.record.place;
  }

  origin(of: number): CheckpointPoint | undefined {
    const start = this.index.lanes.get(of)?.record;
    return this.index.checkpoints.get((start && originOf(start)) ?? -1);
  }

  from(of: number): CheckpointPoint | undefined {
    return this.index.checkpoints.get(this.index.lanes.get(of)?.record.from ?? -1);
  }

  lanesOf(of: number): readonly number[] {
    const key = JSON.stringify(this.place(of));
    return [...this.index.lanes.keys()].filter((each) => JSON.stringify(this.place(each)) === key);
  }

  begunOf(of: number): number {
    return this.index.laneRecords.get(of)?.[0]?.order ?? -1;
  }

  /** The first checkpoint of a lane after an order that does not continue the visit of that moment. */
  leftAfter(of: number, order: number): number {
    let base = -of;
    for (const { record, order: at } of this.index.laneRecords.get(of) ?? []) {
      if (record.kind !== "checkpoint") continue;
      const next = record.visit?.[0] ?? record.version;
      if (at > order && next !== base) return at;
      base = next;
    }
    return Infinity;
  }

  threshold(target: CheckpointPoint, of: number): number {
    if (of === target.record.lane) return target.order;
    for (let inner = target.record.lane, outer = this.place(inner)?.parent; outer !== undefined;) {
      if (of === outer) return this.leftAfter(outer, this.begunOf(Math.min(...this.lanesOf(inner)))) - 1;
      inner = outer;
      outer = this.place(inner)?.parent;
    }
    const from = this.from(of);
    if (from && (from.version === target.version || from.order > this.threshold(target, from.record.lane))) return -1;
    const parent = this.place(of)?.parent;
    return parent === undefined ? Infinity : this.threshold(target, parent);
  }

  isBelow(target: CheckpointPoint, { lane: of, order }: Place): boolean {
    return order > this.threshold(target, of);
  }

  /** The lanes on the way to a checkpoint, each with its last order there. */
  way(point: CheckpointPoint): readonly Place[] {
    const way: Place[] = [];
    for (let at: Place | undefined = { lane: point.record.lane, order: point.order }; at;) {
      way.push(at);
      const origin = this.origin(at.lane);
      const parent: number | undefined = this.place(at.lane)?.parent;
      if (origin) at = { lane: origin.record.lane, order: origin.order };
      else
        at =
          parent === undefined ? undefined : { lane: parent, order: this.begunOf(Math.min(...this.lanesOf(at.lane))) };
    }
    return way;
  }

  isOnWay(point: CheckpointPoint, { lane: of, order }: Place): boolean {
    return this.way(point).some((each) => each.lane === of && order <= each.order);
  }

  isUpTo(point: CheckpointPoint, { lane: of, order }: Place): boolean {
    return order <= this.end(point, of);
  }

  end(point: CheckpointPoint, of: number): number {
    const own = this.way(point).find((each) => each.lane === of);
    if (own) return own.order;
    const parent = this.place(of)?.parent;
    if (parent === undefined) return -1;
    const upTo = this.end(point, parent);
    // The chain of the line as it was there: its newest lane, and what that begins from.
    let at: number | undefined = Math.max(...this.lanesOf(of).filter((each) => this.begunOf(each) <= upTo));
    for (let end = upTo; at !== undefined && at > 0;) {
      if (at === of) return Math.min(end, upTo);
      const from = this.from(at);
      at = from?.record.lane;
      end = from?.order ?? -1;
    }
    return -1;
  }
}

type Step = readonly [act: number, which: number, other: number];

/** A log of random lines: they go on, are joined, fork, call sub-agents and go back, each in a lane that is open. */
function grown(steps: readonly Step[]): Log {
  const index = projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);
  for (const [act, which, other] of steps) {
    const open = index.lines.openLanes;
    const on = open[which % open.length] ?? 1;
    const newest = index.latestOf(on);
    const [version, next] = [index.nextVersion, index.nextLane];
    if (!newest) continue;
    if (act < 3) extended(index, [note(on)]);
    else if (act < 5) extended(index, [checkpoint(on, version)]);
    else if (act < 6) extended(index, [checkpoint(on, version, { visit: newest.record.visit ?? [newest.version, 0] })]);
    else if (act < 8)
      extended(index, [...branch(next, version, [on, newest.version, `b${other % 3}`])].slice(0, isNew() ? 2 : 0));
    else if (act < 9) extended(index, [...subAgent(next, version, [on, `c${version}`])]);
    else goBack();

    function isNew(): boolean {
      return !index.lines.lineOf({ parent: on, fork: newest?.version ?? -1, branch: `b${other % 3}` });
    }

    function goBack(): void {
      const oracle = new Oracle(index);
      const way = [...index.checkpoints.values()].filter(
        (each) => newest && oracle.isOnWay(newest, { ...each, lane: each.record.lane }),
      );
      const target = way[other % way.length];
      if (!target) return;
      const place = index.lanes.get(target.record.lane)?.record.place;
      const visit = target.record.visit ?? ([target.version, 0] as const);
      extended(index, [
        lane(next, { from: target.version, ...(place && { place }) }),
        checkpoint(next, version, { visit }),
      ]);
    }
  }
  return index;
}

const steps = fc.array(fc.tuple(fc.nat(9), fc.nat(50), fc.nat(50)), { minLength: 5, maxLength: 60, size: "max" });
const numRuns = cases(40, 4_000);

describe("a log of random lines", () => {
  const tests = {
    "below a checkpoint": [placesBelow, (oracle: Oracle) => oracle.isBelow.bind(oracle)],
    "on the way to a checkpoint": [placesOnWay, (oracle: Oracle) => oracle.isOnWay.bind(oracle)],
    "up to a checkpoint": [placesUpTo, (oracle: Oracle) => oracle.isUpTo.bind(oracle)],
  } as const;

  it.each(Object.entries(tests))("finds exactly the places %s", (_name, [fast, slow]) => {
    const check = fc.property(steps, fc.nat(), (taken, at) => {
      const index = grown(taken);
      const points = [...index.checkpoints.values()];
      const point = points[at % points.length];
      if (!point) return;
      const isThere = fast(index, point);
      const expected = slow(new Oracle(index));
      for (const place of all(index))
        expect([place, isThere(place.lane, place.order)]).toEqual([place, expected(point, place)]);
    });
    fc.assert(check, { numRuns });
  });

  it("has no record that is both before and after a checkpoint, and each open line comes after its ancestors", () => {
    const check = fc.property(steps, fc.nat(), (taken, at) => {
      const index = grown(taken);
      const points = [...index.checkpoints.values()];
      const point = points[at % points.length];
      if (!point) return;
      const [isBelow, isUpTo] = [placesBelow(index, point), placesUpTo(index, point)];
      for (const { lane: on, order } of all(index)) expect(isBelow(on, order) && isUpTo(on, order)).toBe(false);
      const isOpen = [...index.lanes.keys()].filter((on) => index.lines.isOpen(on));
      expect(new Set(isOpen)).toEqual(new Set(index.lines.openLanes));
      for (const open of index.lines.openLanes) {
        const newest = index.latestOf(open);
        if (!newest || newest === point || !placesOnWay(index, newest)(point.record.lane, point.order)) continue;
        expect(isBelow(open, newest.order)).toBe(true);
      }
    });
    fc.assert(check, { numRuns });
  });
});

describe("the work after a join", () => {
  const joined = () =>
    extended(
      projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)], [checkpoint(1, 2)]),
      [...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])],
      [note(2), checkpoint(2, 5)],
      [note(3), checkpoint(3, 6, { ended: true })],
      [note(2), checkpoint(2, 7, { ended: true })],
      [checkpoint(1, 8, { joined: 2 })],
      [note(1), checkpoint(1, 9)],
    );
  const belowOf = (index: Log, version: number) => {
    const isBelow = placesBelow(index, index.checkpoints.get(version) as CheckpointPoint);
    return [...index.checkpoints.values()]
      .filter(({ record, order }) => isBelow(record.lane, order))
      .map((each) => each.version);
  };

  it("comes after all joined lines, whereas sibling lines do not come after each other", () => {
    const index = joined();
    expect(belowOf(index, 2)).toEqual([3, 4, 5, 6, 7, 8, 9]);
    expect(belowOf(index, 5)).toEqual([7, 8, 9]);
    expect(belowOf(index, 3)).toEqual([5, 7, 8, 9]);
    expect(belowOf(index, 6)).toEqual([8, 9]);
    expect(belowOf(index, 8)).toEqual([9]);
  });

  it("includes the notes of the branches, but their checkpoints are not its ancestors", () => {
    const index = joined();
    const head = index.latest as CheckpointPoint;
    const [isUpTo, isOnWay] = [placesUpTo(index, head), placesOnWay(index, head)];
    expect(index.notes.filter(({ record, order }) => isUpTo(record.lane, order))).toHaveLength(4);
    const ancestors = [...index.checkpoints.values()].filter(({ record, order }) => isOnWay(record.lane, order));
    expect(ancestors.map(({ version }) => version)).toEqual([1, 2, 8, 9]);
    const ofBranch = index.checkpoints.get(7) as CheckpointPoint;
    const way = placesOnWay(index, ofBranch);
    const its = [...index.checkpoints.values()].filter(({ record, order }) => way(record.lane, order));
    expect(its.map(({ version }) => version)).toEqual([1, 2, 3, 5, 7]);
    const notes = placesUpTo(index, ofBranch);
    expect(
      index.notes.filter(({ record, order }) => notes(record.lane, order)).map(({ record }) => record.lane),
    ).toEqual([2, 2]);
  });
});

it("queries end even if lanes start from each other or are nested in each other", () => {
  const point = (version: number, on: number, order: number) =>
    ({ version, order, record: { lane: on } }) as CheckpointPoint;
  const start = (record: object) => ({ record: { kind: "lane", keep: "all", ...record }, runId: "" }) as never;
  const forged = fc.property(
    fc.array(fc.record({ from: fc.nat(8), parent: fc.nat(8), fork: fc.nat(8), nested: fc.boolean() }), {
      maxLength: 8,
    }),
    fc.nat(8),
    (lanes, at) => {
      const index = new LogProjection();
      lanes.forEach(({ from, parent, fork, nested }, on) => {
        const place = { parent, fork, branch: "x" };
        const record = { lane: on, from, ...(nested && { place }) };
        index.lanes.set(on, start(record));
        index.lines.addLane({ kind: "lane", keep: "all", ...record }, on);
        index.checkpoints.set(on, point(on, (on * 5) % 8, on));
      });
      const target = index.checkpoints.get(at) ?? point(at, at, at);
      const isLeft: typeof placesBelow = (_tree, point) => placesLeft(index, point, undefined);
      for (const test of [placesBelow, placesOnWay, placesUpTo, isLeft])
        for (let on = 0; on < 9; on++) expect(typeof test(index, target)(on, 4)).toBe("boolean");
      for (let on = 0; on < 9; on++) expect(typeof index.lines.isOpen(on)).toBe("boolean");
      expect(index.lines.openLanes.length).toBeLessThan(10);
    },
  );
  fc.assert(forged, { numRuns: 500 });
});

it("10,000 chained lanes need neither a deep stack nor much time", () => {
  const index = projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);
  for (let at = 2; at <= 10_000; at++)
    extended(index, [lane(at, { from: at - 1 }), checkpoint(at, at, { visit: [1, 0] })]);
  const first = index.checkpoints.get(1) as CheckpointPoint;
  const isBelow = placesBelow(index, first);
  expect(isBelow(10_000, index.latest?.order ?? -1)).toBe(true);
  expect(placesUpTo(index, index.latest as CheckpointPoint)(1, first.order)).toBe(true);
});

it("10,000 moved branches and 10,000 called agents start again without much time", () => {
  const numbers = Array.from({ length: 10_000 }, (_, at) => at);
  const index = projectionOf(
    [
      run,
      lane(1, { keep: "nothing" }),
      checkpoint(1, 1),
      ...numbers.flatMap((at) => branch(2 + at, 2 + at, [1, 1, `${at}`])),
    ],
    [
      lane(20_000, { from: 1 }),
      checkpoint(20_000, 20_000, { move: "branch", visit: [1, 0] }),
      ...numbers.flatMap((at) => branch(20_001 + at, 20_001 + at, [20_000, 1, `${at}`], { from: 2 + at })),
    ],
    numbers.flatMap((at) => {
      const call = { lane: 20_000, visit: [1, 0], call: `c${at}` } as const;
      const intent = { kind: "intent", ...call, node: "n", tool: "ask", effect: "none", input: null } as const;
      const outcome = { kind: "outcome", ...call, output: null } as const;
      return [intent, ...subAgent(40_000 + at, 40_000 + at, [20_000, call.call]), at % 2 === 0 ? [] : outcome].flat();
    }),
    [checkpoint(20_000, 60_000, { visit: [1, 0] })],
  );
  const endOf = (on: number) => index.laneRecords.get(on)?.at(-1)?.order ?? -1;
  const isLeft = placesLeft(index, index.checkpoints.get(60_000) as CheckpointPoint, undefined);
  expect([2, 10_001, 20_001, 30_000].map((on) => isLeft(on, endOf(on)))).toEqual([true, true, true, true]);
  // The odd calls succeeded, so that their agents do not start again.
  expect([40_000, 40_001, 49_998, 49_999].map((on) => isLeft(on, endOf(on)))).toEqual([true, false, true, false]);
});
