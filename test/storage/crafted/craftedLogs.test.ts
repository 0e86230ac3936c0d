import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { AgentPersistenceError, persistence } from "agent-persistence";
import { FileRecordLog } from "agent-persistence/file";
import { recoverTask } from "agent-persistence/task";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { encodeControl } from "../../../src/storage/file/layout/Segment.ts";
import { intactChain } from "../../../src/storage/file/salvageAgent.ts";
import { collect, nextOwner, segmentPaths, testDirectory } from "../file/support/fixture.ts";
import { type Crafted, craftLog, deepValue } from "./craftLog.ts";

const outside = { at: 0, lane: 1 };
const checkpoint = (version: number, more: object = {}) => ({
  kind: "checkpoint",
  ...outside,
  version,
  node: "second",
  input: "in",
  iteration: 9,
  ...more,
});
const deep = (levels: number) => JSON.parse(`${'{"d":'.repeat(levels)}1${"}".repeat(levels)}`) as unknown;
const circle = (number: number) => ({ kind: "message", lane: 1, number, message: { $message: number } });
const blob = ["blob://" + "0".repeat(64) + "-1", 10];

const logs: Readonly<Record<string, Crafted>> = {
  "a lane that begins at itself": (version) => [
    { kind: "lane", lane: 2, from: version, keep: "all" },
    checkpoint(version, { lane: 2 }),
  ],
  "a lane that is defined again": (version) => [
    { kind: "lane", lane: 1, from: version - 1, keep: "all" },
    checkpoint(version),
  ],
  "two lanes that start at each other": (version) => [
    { kind: "lane", lane: 2, from: version + 1, keep: "all" },
    checkpoint(version, { lane: 2 }),
    { kind: "lane", lane: 3, from: version, keep: "all" },
    checkpoint(version + 1, { lane: 3 }),
  ],
  "a line that is nested in itself": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 2, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2 }),
  ],
  "a branch of a fork on another line": (version) => [
    { kind: "lane", lane: 2, keep: "nothing", place: { parent: 1, call: "c" } },
    checkpoint(version, { lane: 2 }),
    { kind: "lane", lane: 3, keep: "all", place: { parent: 1, fork: version, branch: "a" } },
    checkpoint(version + 1, { lane: 3, ended: true }),
  ],
  "a later lane of a place that begins on another line": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2 }),
    { kind: "lane", lane: 3, from: version - 1, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    checkpoint(version + 1, { lane: 3 }),
  ],
  "lines nested in missing lanes": (version) => [
    { kind: "lane", lane: 20, keep: "state", place: { parent: 19, fork: 1, branch: "a" } },
    checkpoint(version, { lane: 20 }),
    { kind: "lane", lane: 21, keep: "all", place: { parent: 20, fork: 0, branch: "a" } },
    checkpoint(version + 1, { lane: 21, joined: 0 }),
  ],
  "a line that is nested in a later one": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 3, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2 }),
    { kind: "lane", lane: 3, keep: "all", place: { parent: 1, fork: version - 1, branch: "b" } },
    checkpoint(version + 1, { lane: 3 }),
  ],
  "lines that are nested in each other": (version) => [
    { kind: "lane", lane: 2, keep: "nothing", place: { parent: 3, call: "a" } },
    checkpoint(version, { lane: 2 }),
    { kind: "lane", lane: 3, keep: "nothing", place: { parent: 2, call: "b" } },
    checkpoint(version + 1, { lane: 3 }),
  ],
  "two lines for one branch": (version) =>
    [2, 3].flatMap((lane) => [
      { kind: "lane", lane, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
      checkpoint(version + lane - 2, { lane }),
    ]),
  "an end that is also the end of the run": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2, ended: true, status: "completed" }),
  ],
  "a nested line with the end of the run": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2, status: "completed" }),
  ],
  "a main line that has ended as a branch does": (version) => [checkpoint(version, { ended: true })],
  "a join of a checkpoint that is no fork": (version) => [checkpoint(version, { joined: version - 1 })],
  "a join of nothing that is there": (version) => [checkpoint(version, { joined: 0 })],
  "a join of a fork on another line": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2 }),
    { kind: "lane", lane: 3, keep: "all", place: { parent: 2, fork: version, branch: "b" } },
    checkpoint(version + 1, { lane: 3, ended: true }),
    checkpoint(version + 2, { joined: version }),
  ],
  "references to a branch that is not joined": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    checkpoint(version, { lane: 2 }),
    { kind: "message", lane: 2, number: 8, message: { role: "user", content: "its own" } },
    { kind: "message", lane: 1, number: 9, message: { $message: [8, 2] } },
    checkpoint(version + 1, { input: { $answer: [version, 0, 0, null, 2] } }),
  ],
  "messages of two lines that refer to each other": (version) => [
    { kind: "lane", lane: 2, keep: "all", place: { parent: 1, fork: version - 1, branch: "a" } },
    { kind: "message", lane: 2, number: 8, message: { $message: [9, 1] } },
    checkpoint(version, { lane: 2 }),
    { kind: "message", lane: 1, number: 9, message: { $message: [8, 2] } },
    checkpoint(version + 1, { input: { $message: 9 } }),
  ],
  "a line that ended before the head": (version) => [
    { kind: "lane", lane: 2, keep: "nothing", place: { parent: 1, call: "c" } },
    checkpoint(version, { lane: 2, ended: true }),
    checkpoint(version + 1),
  ],
  "references to missing lanes": (version) => [
    { kind: "message", lane: 1, number: 3, message: { $message: [1, 77] } },
    { kind: "message", lane: 1, number: 4, message: { $answer: [1, 0, 0, null, 77] } },
    checkpoint(version, { input: { $answer: [1, 0, 0, null, -4] }, joined: 1 }),
  ],
  "a message that is itself": (version) => [circle(1), circle(2), checkpoint(version, { input: { $message: 1 } })],
  "messages that refer to each other": (version) => [
    { ...circle(8), message: { $message: 9 } },
    { ...circle(9), message: { $message: 8 } },
    checkpoint(version, { input: { $message: 9 } }),
  ],
  "a value in a missing blob": (version) => [checkpoint(version, { input: { $blob: blob } })],
  "records that are nested deeply": (version) => [checkpoint(version, { input: deepValue })],
  "a field that is nested deeply": (version) => [checkpoint(version, { node: deepValue })],
  "a record of a newer version that is nested deeply": () => [{ kind: "from the future", value: deepValue }],
  "a value in a blob that is not JSON": async (version, put) => [
    checkpoint(version, { input: { $blob: [await put("no JSON"), 7] } }),
  ],
  "a value in a blob that refers to itself": async (version, put) => {
    const text = JSON.stringify({ $message: 1 });
    const slot = { $blob: [await put(text), text.length] };
    return [{ kind: "message", lane: 1, number: 1, message: slot }, checkpoint(version, { input: slot })];
  },
  "rich values that are not": (version) => [
    checkpoint(version, { input: { $rich: { json: deep(3), meta: deep(3) } } }),
  ],
  "an edit that is not": () => [{ kind: "edit", lane: 1, remove: [[5, 1]], insert: [{ number: 3, message: 7 }] }],
  "a snapshot of nothing": (version) => [{ kind: "snapshot", checkpoint: checkpoint(version), checkpointId: "x" }],
  "2,000 lanes, each in the last": (version) =>
    Array.from({ length: 2_000 }, (_, at) => [
      { kind: "lane", lane: at + 2, from: version + at - 1, keep: "all" },
      checkpoint(version + at, { lane: at + 2 }),
    ]).flat(),
  "many gaps": () => [
    {
      kind: "pruned",
      upTo: 2,
      restated: [],
      nextNumber: 9,
      blobs: [],
      gaps: Array.from({ length: 5_000 }, (_, at) => ({ first: at + 100, last: at + 100, before: "", after: "" })),
    },
  ],
  "a pruning that restates itself": () => [
    {
      kind: "pruned",
      upTo: 1,
      nextNumber: 9,
      blobs: [],
      gaps: [],
      restated: [{ position: 1, generation: 1, checksum: "x", records: [{ kind: "pruned", upTo: 1, restated: [] }] }],
    },
  ],
  "a rollback to nowhere": () => [
    { kind: "rollback", target: 99, calls: ["x"], closed: [], participants: [{ key: "none" }] },
  ],
  "an answer that is no message": (version) => [
    { kind: "answer", lane: 1, visit: [version - 1, 0], ordinal: 0, node: "second", message: 5 },
    checkpoint(version, { input: { $answer: [version - 1, 0, 0] } }),
  ],
  "an intent of a call that its answer does not ask for": (version) => [
    {
      kind: "answer",
      lane: 1,
      visit: [version - 1, 0],
      ordinal: 0,
      node: "second",
      message: { role: "assistant", content: [{ type: "text", text: "no call" }] },
    },
    {
      kind: "intent",
      lane: 1,
      visit: [version - 1, 0],
      call: "c".repeat(22),
      tool: "act",
      effect: "idempotent",
      node: "second",
    },
  ],
};

describe.each(Object.entries(logs))("a log with valid checksums and %s", (_name, records) => {
  it("ends every method with a result or with an error of the library", async () => {
    const { agent, log, durable, firstCheckpointId, began } = await craftLog(records);
    const verbs: Readonly<Record<string, () => Promise<unknown>>> = {
      checkpoints: async () => (await durable().getCheckpoints()).slice(-20).map((data) => JSON.stringify(data).length),
      latest: async () => JSON.stringify(await durable().getLatestCheckpoint()),
      messages: () => durable().getMessages(),
      originals: () => durable().getMessages({ original: true }),
      validate: () => durable().validateCheckpoint(),
      list: () => collect(log().list()),
      unfinished: () => collect(persistence(agent()).unfinished({ includeFailed: true })),
      salvage: async () => log().salvage("a", new FileRecordLog({ directory: await testDirectory() })),
      dryRun: () => persistence(agent()).prune({ agentId: "a", dryRun: true }),
      prune: () => persistence(agent()).prune({ agentId: "a", policy: { maxCheckpoints: 2 } }),
      recovered: () => recoverTask(agent()),
      recorded: () => agent().run("in", { runId: "another" }),
      resume: () => agent().resume(),
      rollback: async () => durable().rollbackToLatestCheckpoint(),
      back: async () => durable().rollbackToCheckpoint(firstCheckpointId),
    };
    for (const [name, verb] of Object.entries(verbs)) {
      const error: unknown = await verb().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error !== undefined) expect([name, error]).toEqual([name, expect.any(AgentPersistenceError)]);
    }
    expect(began).toEqual([]);
  });
});

it.each([
  "a line that is nested in itself",
  "a line that is nested in a later one",
  "lines that are nested in each other",
  "an end that is also the end of the run",
  "references to missing lanes",
  "references to a branch that is not joined",
  "messages of two lines that refer to each other",
])("a log with valid checksums and %s is refused without changes", async (name) => {
  const { agent, durable, log, began } = await craftLog(logs[name] ?? (() => []));
  const stored = () => collect(log().read("a"));
  const before = await stored();
  const refused = { code: "unreadable_value" };
  await expect(agent().resume()).rejects.toMatchObject(refused);
  await expect(agent().run("in", { runId: "r" })).rejects.toMatchObject(refused);
  await expect(recoverTask(agent())).rejects.toBeInstanceOf(AgentPersistenceError);
  expect(await durable().validateCheckpoint()).toMatchObject({ valid: false });
  expect(await stored()).toEqual(before);
  expect(began).toEqual([]);
});

it("a log with a record of a newer version is refused as a whole and names the record", async () => {
  const { agent, durable } = await craftLog((version) => [{ kind: "hologram" }, checkpoint(version)]);
  const refused = { code: "unsupported_record", recordKind: "hologram" };
  await expect(durable().getCheckpoints()).rejects.toMatchObject(refused);
  await expect(agent().resume()).rejects.toMatchObject(refused);
  expect(await durable().validateCheckpoint()).toMatchObject({ valid: false });
  const report = await persistence(agent()).prune({ agentId: "a", policy: { maxCheckpoints: 2 } });
  expect(report.failed).toMatchObject([{ error: refused }]);
});

const odd: readonly unknown[] = [
  "x",
  [[1]],
  [["a", 2]],
  [[-1, 5]],
  [
    [2, 1],
    [1, 1],
  ],
  [[1, 1e300]],
  [null],
  7,
];

it.each(odd)("a segment opened with the base %j is damaged", async (base) => {
  const { directory, log } = await craftLog((version) => [checkpoint(version)]);
  const path = (await segmentPaths(directory, "a")).at(-1) ?? "";
  const lines = (await readFile(path, "utf8")).split("\n");
  const at = lines.findIndex((line) => line.startsWith('{"open":'));
  const { open } = JSON.parse(lines[at] ?? "") as { readonly open: object };
  lines[at] = encodeControl("open", { ...open, base } as never, nodeSha256).trimEnd();
  await writeFile(path, lines.join("\n"));
  await expect(collect(log().read("a"))).rejects.toMatchObject({ code: "corrupt_log" });
  await expect(log().open("a", nextOwner())).rejects.toBeInstanceOf(AgentPersistenceError);
});

it("a salvage examines each of many consecutive gaps only a few times", () => {
  const count = 10_000;
  let looks = 0;
  const gaps = Array.from({ length: count }, (_, at) => ({
    kind: "pruned",
    gaps: [
      {
        get first() {
          looks++;
          return at + 2;
        },
        last: at + 2,
        before: `c${at + 1}`,
        after: `c${at + 2}`,
      },
    ],
  }));
  const entry = (position: number, records: readonly object[]) => ({
    entry: {
      position,
      generation: 1,
      id: "",
      checksum: `c${position}`,
      prev: position === 1 ? "" : `c${position - 1}`,
      records,
    },
  });
  const { appends } = intactChain([entry(1, []), entry(count + 2, gaps)] as never);
  expect(appends).toHaveLength(2);
  expect(looks).toBeLessThan(10 * count);
});
