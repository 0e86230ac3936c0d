import { describe, expect, it } from "vitest";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { neededContents } from "../../../src/checkpoint/pruning/neededContents.ts";
import type { AgentRecord, NoteRecord } from "../../../src/checkpoint/records/AgentRecord.ts";

const hash = (name: string) => Buffer.from(name.padEnd(32)).toString("hex");
const state = (name: string) => ({ kind: "file", hash: hash(name), bytes: 1, mode: 0o644 });
const packs = (...names: string[]) => [{ blob: "blob://x", contents: names.map((name) => [hash(name), 1] as const) }];

const lane = (number: number, from?: number): AgentRecord =>
  ({ kind: "lane", lane: number, keep: "all", ...(from !== undefined && { from }) }) as AgentRecord;
const checkpoint = (version: number, onLane = 1) =>
  ({ kind: "checkpoint", version, lane: onLane, at: 0 }) as AgentRecord;
const files = (...changes: readonly [path: string, before: string | undefined, after: string | undefined][]) =>
  note("files", {
    changes: changes.map(([path, before, after]) => ({
      path,
      ...(before && { before: state(before) }),
      ...(after && { after: state(after) }),
    })),
  });
const note = (key: string, value: unknown, more: Partial<NoteRecord> = {}): AgentRecord => ({
  kind: "note",
  lane: 1,
  key,
  value: value as never,
  ...more,
});
const rolledBack = (target: number): AgentRecord[] => [
  { kind: "rollback", target, calls: [], closed: [], participants: [{ key: "files", steps: [] }] },
  { kind: "rollback_end", target },
];

it.each<[string, readonly AgentRecord[], readonly string[]]>([
  ["empty without notes", [checkpoint(2)], []],
  ["the first and last state of a file", [files(["p", "a", "b"]), files(["p", "b", "c"]), checkpoint(2)], ["a", "c"]],
  ["the last state of a new file", [files(["p", undefined, "b"]), files(["p", "b", "c"]), checkpoint(2)], ["c"]],
  ["the first state of a deleted file", [files(["p", "a", "b"]), files(["p", "b", undefined]), checkpoint(2)], ["a"]],
  ["of each file separately", [files(["p", "a", "b"], ["q", "b", "d"]), checkpoint(2)], ["a", "b", "d"]],
  [
    "the states before and after a kept checkpoint",
    [files(["p", "a", "b"]), checkpoint(2), files(["p", "b", "c"]), files(["p", "c", "d"]), checkpoint(4)],
    ["a", "b", "d"],
  ],
  [
    "no states around a checkpoint that is not kept",
    [files(["p", "a", "b"]), checkpoint(3), files(["p", "b", "c"]), checkpoint(4)],
    ["a", "c"],
  ],
  [
    "all states after the last checkpoint",
    [checkpoint(2), files(["p", "a", "b"]), files(["p", "b", "c"])],
    ["a", "b", "c"],
  ],
  ["no reverted states", [files(["p", "a", "b"]), ...rolledBack(1), lane(2, 1), checkpoint(2, 2)], []],
  ["contents named by other notes", [note("own", { see: `${hash("a")}, ${hash("b")}` }), checkpoint(2)], ["a", "b"]],
  ["contents added by other notes", [note("own", "x", { packs: packs("a", "b") }), checkpoint(2)], ["a", "b"]],
  ["no contents added for others", [note("own", null, { packs: packs("a") }), checkpoint(2)], []],
  [
    "all contents of a note in another format",
    [note("files", { changes: [{ path: 1, was: hash("a") }] }), checkpoint(2)],
    ["a"],
  ],
  ["contents of a blob", [note("files", { $blob: ["blob://n", 9] }), checkpoint(2)], ["a", "c"]],
])("the needed contents: %s", (_name, records, expected) => {
  const text = JSON.stringify({
    changes: [
      { path: "p", before: state("a"), after: state("b") },
      { path: "p", before: state("b"), after: state("c") },
    ],
  });
  expect(needed(records, new Map([["blob://n", text]]))).toEqual(new Set(expected.map(hash)));
});

describe("notes of nested lines", () => {
  const branch = (number: number, key: string): AgentRecord =>
    ({ kind: "lane", lane: number, keep: "all", place: { parent: 1, fork: 1, branch: key } }) as AgentRecord;
  const on = (number: number, record: AgentRecord) => ({ ...record, lane: number }) as AgentRecord;
  const begun = [branch(2, "a"), checkpoint(3, 2), branch(3, "b"), checkpoint(5, 3)];
  const changes = [
    on(2, files(["p", "a", "b"])),
    on(3, files(["p", "b", "c"])),
    on(2, files(["p", "c", "d"])),
    checkpoint(6, 2),
    checkpoint(7, 3),
  ];
  const hashes = (...names: string[]) => new Set(names.map(hash));

  it("are all needed while a parallel line may be reverted alone", () => {
    expect(needed([...begun, ...changes])).toEqual(hashes("a", "b", "c", "d"));
  });

  it("need only the first and the last state after the join, whichever line changed it", () => {
    const join = { ...checkpoint(8), joined: 1 } as AgentRecord;
    const index = indexOf([...begun, ...changes, join]);
    expect(neededContents(index, [], new Set([1, 8]), new Map())).toEqual(hashes("a", "d"));
    expect(neededContents(index, [], new Set([1, 6, 8]), new Map())).toEqual(hashes("a", "d"));
  });
});

it("all contents are needed if a note cannot be read", () => {
  expect(needed([note("files", { $blob: ["blob://n", 9] }), checkpoint(2)])).toBeUndefined();
});

it("required contents of a run are needed", () => {
  const index = indexOf([checkpoint(2)]);
  const required = {
    kind: "requirements",
    lane: 1,
    files: ["p"],
    hashes: { p: hash("a"), q: null },
  } as unknown as AgentRecord;
  const restated = [{ position: 1, generation: 1, checksum: "", records: [required] }];
  expect(neededContents(index, restated, new Set([1, 2]), new Map())).toEqual(new Set([hash("a")]));
});

function needed(records: readonly AgentRecord[], texts: ReadonlyMap<string, string> = new Map()) {
  return neededContents(indexOf(records), [], new Set([1, 2, 4]), texts);
}

function indexOf(records: readonly AgentRecord[]): LogProjection {
  const index = new LogProjection();
  const all = [{ kind: "run", run: "r", at: 0 } as AgentRecord, lane(1), checkpoint(1), ...records];
  index.add({ position: 1, generation: 1, id: "1-1", checksum: "", prev: "", records: all });
  return index;
}
