import { describe, expect, it } from "vitest";
import {
  invalidField,
  numbersAfter,
  unknownKind,
  validateRecord,
} from "../../../src/checkpoint/format/validateRecord.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { LogRecord } from "../../../src/checkpoint/records/Entry.ts";
import { projectionOf } from "../support/projection.ts";

const lane = (fields: object): LogRecord => ({ kind: "lane", lane: 5, keep: "all", ...fields }) as LogRecord;
const checkpoint = (fields: object): LogRecord =>
  ({ kind: "checkpoint", lane: 1, version: 9, at: 0, node: "n", input: "in", iteration: 0, ...fields }) as LogRecord;
const entry = (...records: readonly LogRecord[]) => ({
  position: 3,
  generation: 1,
  id: "1-3",
  records,
  checksum: "",
  prev: "",
});

describe("the place of a lane", () => {
  it.each([
    ["omitted, on the main line", undefined],
    ["of a branch", { parent: 1, fork: 4, branch: "facts" }],
    ["of a sub-agent", { parent: 1, call: "c1" }],
    ["of a branch with an empty key", { parent: 1, fork: 4, branch: "" }],
  ])("is valid: %s", (_name, place) => {
    expect(invalidField(lane({ place }))).toBeUndefined();
  });

  it.each([
    ["not an object", 7],
    ["null", null],
    ["without a parent and a fork", {}],
    ["without a parent", { fork: 4, branch: "facts" }],
    ["of a branch without a key", { parent: 1, fork: 4 }],
    ["with a text as fork", { parent: 1, fork: "4", branch: "facts" }],
    ["of an invalid call id", { parent: 1, call: 4 }],
    ["in a negative lane", { parent: -1, call: "c1" }],
  ])("is refused: %s", (_name, place) => {
    expect(invalidField(lane({ place }))).toBe("place");
  });

  it.each([
    ["the same lane", { parent: 5, call: "c1" }],
    ["a later lane", { parent: 6, call: "c1" }],
  ])("does not refer to %s", (_name, place) => {
    expect(validateRecord(entry(lane({ place })), { nextVersion: 7, nextLane: 5 })).toContain('invalid "place"');
  });

  it("does not name a future fork, because no later checkpoint has that version", () => {
    const branch = lane({ place: { parent: 1, fork: 7, branch: "a" } });
    const next = { nextVersion: 7, nextLane: 5 };
    expect(validateRecord(entry(branch, checkpoint({ version: 7 })), next)).toContain('invalid "version"');
    expect(validateRecord(entry(branch, checkpoint({ version: 8 })), next)).toBeUndefined();
    const index = projectionOf([branch as AgentRecord]);
    expect(validateRecord(entry(checkpoint({ version: 7 })), index)).toContain('invalid "version"');
  });

  it("may name earlier records of the same append", () => {
    const records = [lane({}), checkpoint({ lane: 5 }), lane({ lane: 6, place: { parent: 5, fork: 9, branch: "a" } })];
    expect(validateRecord(entry(...records), { nextVersion: 7, nextLane: 5 })).toBeUndefined();
  });
});

describe("a checkpoint of lines", () => {
  it.each([
    ["ends a line", { ended: true }],
    ["joins branches", { joined: 8 }],
    ["ends a run", { status: "completed" }],
  ])("%s", (_name, fields) => {
    expect(validateRecord(entry(checkpoint(fields)), { nextVersion: 9, nextLane: 2 })).toBeUndefined();
  });

  it.each([
    ["ended", { ended: false }],
    ["ended", { ended: true, status: "completed" }],
    ["joined", { joined: "8" }],
    ["joined", { joined: 9 }],
  ])("with an invalid %s is refused: %o", (field, fields) => {
    const defect = validateRecord(entry(checkpoint(fields)), { nextVersion: 9, nextLane: 2 });
    expect(defect).toBe(`append 3: record "checkpoint" has an invalid "${field}"`);
  });
});

it("an unknown kind of record is named and not written", () => {
  expect(unknownKind(entry(checkpoint({}), { kind: "hologram" }))).toBe("hologram");
  expect(unknownKind(entry(checkpoint({}), lane({})))).toBeUndefined();
  expect(invalidField({ kind: "hologram" })).toBe("kind");
  expect(invalidField({ kind: "constructor" })).toBe("kind");
});

it("versions and lanes are counted over all lines", () => {
  const start = { nextVersion: 1, nextLane: 1 };
  const records = [
    lane({ lane: 3 }),
    checkpoint({ lane: 3, version: 2 }),
    lane({ lane: 4, place: { parent: 3, call: "c" } }),
  ];
  const after = (records as unknown as readonly AgentRecord[]).reduce(numbersAfter, start);
  expect(after).toEqual({ nextVersion: 3, nextLane: 5 });
});
