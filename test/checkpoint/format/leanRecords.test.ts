import fc from "fast-check";
import { expect, it } from "vitest";
import { leanRecords, wholeRecords } from "../../../src/checkpoint/format/leanRecords.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";

const checkpoint = fc
  .record({ at: fc.integer({ min: 1, max: 3 }), node: fc.constantFrom("finish", "n"), ended: fc.boolean() })
  .map(({ ended, ...fields }) => {
    const record = { kind: "checkpoint", lane: 2, version: 3, input: 1, iteration: 0, ...fields } as const;
    return ended ? ({ ...record, ended } as const) : record;
  });
const lane = fc
  .record({
    keep: fc.constantFrom("all", "state", "nothing"),
    place: fc.constantFrom(undefined, { parent: 1, fork: 1, branch: "a" }, { parent: 1, call: "c" }),
    from: fc.constantFrom(undefined, 1),
  })
  .map(({ keep, place, from }) => ({
    kind: "lane" as const,
    lane: 2,
    keep,
    ...(from && { from }),
    ...(place && { place }),
  }));
const append = fc.array(fc.oneof(checkpoint, lane, fc.constant({ kind: "storage", lane: 2, key: "k" } as const)));

it("records are unchanged after they are stored and read", () => {
  fc.assert(
    fc.property(append, (records: readonly AgentRecord[]) => {
      expect(wholeRecords(leanRecords(records))).toEqual(records);
      expect(wholeRecords(records)).toEqual(records);
    }),
  );
});

it("a branch omits its default keep, and the time and node of its end", () => {
  const ended = { kind: "checkpoint", lane: 2, version: 3, at: 5, node: "finish", input: 1, iteration: 1 } as const;
  expect(
    leanRecords([
      { kind: "lane", lane: 2, place: { parent: 1, fork: 1, branch: "a" }, keep: "all" },
      { ...ended, version: 2, node: "n" },
      { ...ended, ended: true },
    ]),
  ).toEqual([
    { kind: "lane", lane: 2, place: { parent: 1, fork: 1, branch: "a" } },
    { kind: "checkpoint", lane: 2, version: 2, at: 5, node: "n", input: 1, iteration: 1 },
    { kind: "checkpoint", lane: 2, version: 3, input: 1, iteration: 1, ended: true },
  ]);
});
