import { describe, expect, it, vi } from "vitest";
import { headsOf, neededCheckpoints } from "../../../src/checkpoint/pruning/neededCheckpoints.ts";
import { rewriteKept } from "../../../src/checkpoint/pruning/rewriteKept.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { Entry } from "../../../src/checkpoint/records/Entry.ts";
import { joinedBranches } from "../../../src/checkpoint/state/BranchChanges.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { LayeredMap } from "../../../src/internal/LayeredMap.ts";
import { Pace } from "../../../src/internal/nextTurn.ts";
import { fullRetention } from "../../../src/persistence/config/RetentionPolicy.ts";
import { retainableAgent, planRetention } from "../../../src/persistence/retention/planPruning.ts";
import { branch, checkpoint, lane, run, subAgent } from "../support/projection.ts";

class CountedPace extends Pace {
  bytes = 0;

  override async after(bytes: number): Promise<void> {
    this.bytes += bytes;
  }
}

function entriesOf(appends: readonly (readonly AgentRecord[])[]): readonly Entry[] {
  return appends.map((records, at) => ({
    position: at + 1,
    generation: 1,
    id: `1-${at + 1}`,
    records,
    checksum: "",
    prev: "",
  }));
}

function indexOf(entries: readonly Pick<Entry, "position" | "generation" | "checksum" | "records">[]): LogProjection {
  const index = new LogProjection();
  for (const entry of entries) index.add({ id: "", prev: "", ...entry });
  return index;
}

/** The log as it is pruned to its first checkpoint and what the open lines need. */
async function pruned(appends: readonly (readonly AgentRecord[])[], pace: Pace = new Pace()): Promise<LogProjection> {
  const entries = entriesOf(appends);
  const index = indexOf(entries);
  const kept = neededCheckpoints(index, [1, ...headsOf(index).map(({ version }) => version)]);
  return indexOf(await rewriteKept(entries, index, kept, () => false, pace));
}

const intent = (on: number, base: number, call: string): AgentRecord => ({
  kind: "intent",
  lane: on,
  visit: [base, 0],
  call,
  tool: "t",
  effect: "idempotent",
  node: "n",
});
const message = (on: number, number: number): AgentRecord => ({
  kind: "message",
  lane: on,
  number,
  message: { role: "user", content: `m${number}` },
});
const begun = [run, lane(1, { keep: "nothing" }), checkpoint(1, 1)];
const forked = [begun, [checkpoint(1, 2)], [...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])]];
const ended = [
  [message(2, 1), checkpoint(2, 5, { ended: true, input: 1 })],
  [intent(3, 4, "c"), checkpoint(3, 6, { ended: true, input: 2 })],
];
const joined = [...forked, ...ended, [checkpoint(1, 7, { joined: 2 })]];

describe("joined branches", () => {
  it("keep their ends while merge runs, even from a checkpoint that merge requested", async () => {
    for (const within of [[], [[checkpoint(1, 8, { visit: [7, 1] })]]]) {
      const index = await pruned([...joined, ...within]);
      const results = index.latest && joinedBranches(index, index.latest);
      expect([...(results ?? [])].map(([key, { output, messages }]) => [key, output, messages.length])).toEqual([
        ["a", 1, 1],
        ["b", 2, 0],
      ]);
      expect([...index.checkpoints.keys()]).toEqual(within.length > 0 ? [1, 2, 5, 6, 7, 8] : [1, 2, 5, 6, 7]);
    }
  });

  it("keep only calls with an effect and their lanes after the join", async () => {
    const index = await pruned([...joined, [checkpoint(1, 8)]]);
    expect([...index.checkpoints.keys()]).toEqual([1, 8]);
    expect([...index.lanes.keys()]).toEqual([1, 3]);
    expect(index.nextLane).toBe(4);
    expect([...index.laneRecords.keys()]).toEqual([1, 3]);
  });

  it("reserve the number of the newest lane", async () => {
    const after = [...joined, [checkpoint(1, 8), ...subAgent(4, 9, [1, "s"]), checkpoint(4, 10, { ended: true })]];
    const index = await pruned([...after, [checkpoint(1, 11)]]);
    expect([...index.lanes.keys()]).toEqual([1, 3, 4]);
    expect(index.nextLane).toBe(5);
  });
});

describe("10,000 branches", () => {
  const history = (count: number) => Array.from({ length: count }, (_, at) => message(1, at + 1));
  const branches = (count: number) =>
    Array.from({ length: count }, (_, at) => [
      ...branch(at + 2, 3 * at + 3, [1, 2, `${at}`]),
      message(at + 2, 2_000 + at),
      { kind: "storage", lane: at + 2, key: "k", value: at } as const,
      checkpoint(at + 2, 3 * at + 4),
      checkpoint(at + 2, 3 * at + 5, { ended: true }),
    ]);
  const log = (count: number, messages: number) => [
    begun,
    [...history(messages), checkpoint(1, 2)],
    ...branches(count),
  ];

  it("are pruned at a cost that does not depend on the history they started with", async () => {
    const writes = vi.spyOn(LayeredMap.prototype, "set");
    const costOf = async (count: number, messages: number) => {
      writes.mockClear();
      const pace = new CountedPace();
      const index = await pruned(log(count, messages), pace);
      expect(index.checkpoints.size).toBe(count + 2);
      return { bytes: pace.bytes, writes: writes.mock.calls.length };
    };
    const [one, few, many] = [await costOf(1, 1_000), await costOf(1_000, 0), await costOf(1_000, 1_000)];
    expect(many.bytes).toBeLessThan(few.bytes + 1.1 * one.bytes);
    expect(many.writes).toBeLessThan(few.writes + 1.1 * one.writes);
    const all = await costOf(10_000, 1_000);
    expect(all.bytes / many.bytes).toBeLessThan(10.1);
    expect(all.writes / many.writes).toBeLessThan(10.1);
    writes.mockRestore();
  });

  it("count like other checkpoints once they are joined, and are removed first", () => {
    const index = indexOf(
      entriesOf([...log(10_000, 0), [checkpoint(1, 40_000, { joined: 2 })], [checkpoint(1, 40_001)]]),
    );
    const plan = planRetention(retainableAgent(index) ?? fail(), fullRetention({ maxCheckpoints: 20 }), 0);
    expect(plan).toEqual({ kind: "prune", kept: new Set([1, 2, 40_001]) });
  });

  function fail(): never {
    throw new TypeError("There is nothing to retain.");
  }
});
