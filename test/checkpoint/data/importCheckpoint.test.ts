import { describe, expect, it } from "vitest";
import type { AgentCheckpointData } from "../../../src/checkpoint/data/AgentCheckpointData.ts";
import { importCheckpoint } from "../../../src/checkpoint/data/importCheckpoint.ts";
import { foldTo } from "../../../src/checkpoint/state/foldTo.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { decodeValue } from "../../../src/checkpoint/values/valueCodec.ts";
import { ValueWriter } from "../../../src/checkpoint/format/ValueWriter.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { exampleCheckpoint } from "../../../src/testing/conformance/provider/exampleCheckpoint.ts";

/** The index of a log made of checkpoints, as for a provider of three methods. */
function imported(all: readonly AgentCheckpointData[]): LogProjection {
  const index = new LogProjection();
  const writer = new ValueWriter({ sha256: nodeSha256, inlineThresholdBytes: Infinity });
  for (const [at, data] of all.entries()) {
    const records = importCheckpoint(data, index, new Map(), writer);
    index.add({ position: at + 1, generation: 1, id: data.checkpointId, records, checksum: "", prev: "" });
  }
  return index;
}

const step = (version: number, more: Partial<AgentCheckpointData> = {}) =>
  exampleCheckpoint("a", version, { runId: "first", ...more });
const end = { nodeId: "finish", status: "completed" } as const;
const backTo = (version: number) => ({ parentId: `1-${version}`, nodeId: "callModel" });

describe("a log made of checkpoints", () => {
  it("ends a run at its last checkpoint", () => {
    const index = imported([step(1), step(2, end)]);
    expect([index.unfinished, [...index.runs.keys()]]).toEqual([false, ["first"]]);
  });

  it("continues a run that was rolled back from its end to an earlier checkpoint, even without reverted calls", () => {
    const index = imported([step(1), step(2, end), step(3, backTo(1))]);
    expect([index.unfinished, index.run?.run, [...index.runs.keys()]]).toEqual([true, "first", []]);
  });

  it("continues a finished run whose last messages were reverted", () => {
    const index = imported([step(1), step(2, end), step(3, backTo(2))]);
    expect([index.unfinished, index.run?.run]).toEqual([true, "first"]);
  });

  it("continues an earlier run after a rollback to it", () => {
    const second = { runId: "second" };
    const index = imported([
      step(1),
      step(2, end),
      step(3, second),
      step(4, { ...second, ...end }),
      step(5, backTo(1)),
    ]);
    expect([index.unfinished, index.run?.run, [...index.runs.keys()]]).toEqual([true, "first", []]);
    expect([...index.checkpoints.values()].map(({ runId }) => runId)).toEqual([
      "first",
      "first",
      "second",
      "second",
      "first",
    ]);
    expect(index.run?.input).toBe("input 1 of a");
  });

  it("ends a run again if the run finishes again after a rollback", () => {
    const index = imported([step(1), step(2, end), step(3, backTo(1)), step(4, end)]);
    expect([index.unfinished, index.runs.get("first")]).toEqual([false, [4, 4]]);
    expect(imported([step(1), step(2, end), step(3, { ...end, parentId: "1-1" })]).unfinished).toBe(false);
  });

  it("keeps the end of a run that another run follows", () => {
    const index = imported([step(1), step(2, end), step(3, { runId: "second" })]);
    expect([index.unfinished, index.run?.run, [...index.runs.keys()]]).toEqual([true, "second", ["first"]]);
  });
});

it("a log made of checkpoints keeps a change of the sign of zero", () => {
  const index = imported([
    step(1, { storage: { sum: 0, deep: [-0], same: -0 } }),
    step(2, { storage: { sum: -0, deep: [0], same: -0 } }),
  ]);
  const stored = [...(foldTo(index)?.storage ?? [])].map(([key, slot]) => [key, decodeValue(slot)] as const);
  expect(Object.fromEntries(stored)).toEqual({ sum: -0, deep: [0], same: -0 });
});

describe("branches in a log made of checkpoints", () => {
  const fork = step(2, { nodeId: "both" });
  const begun = step(3, { parentId: "1-2", branch: "both#a#1", nodeId: "a" });

  it("are separate lines, which a move within continues", () => {
    const back = step(5, { parentId: "1-3", branch: "both#a#1", nodeId: "a", move: "rollback" });
    const index = imported([step(1), fork, begun, step(4, { branch: "both#a#1" }), back]);
    const [line] = index.lines.branchesOf(2);
    expect([line?.place, line?.lanes.length, index.latest?.version]).toEqual([
      { parent: 1, fork: 2, branch: "a#1" },
      2,
      2,
    ]);
    expect(index.latestOf(line?.lane ?? 0)?.version).toBe(5);
  });

  it("end with their output, and are closed by the join", () => {
    const ended = step(4, { branch: "both#a#1", ...end });
    const index = imported([step(1), fork, begun, ended, step(5, { parentId: "1-2", nodeId: "both", joined: "1-2" })]);
    expect(index.checkpoints.get(4)?.record).toMatchObject({ ended: true, input: "input 4 of a" });
    expect([index.unfinished, index.latest?.record.joined, index.lines.openLanes]).toEqual([true, 2, [1]]);
  });

  it("are refused without a checkpoint of their fork, as are called agents and unknown joins", () => {
    const code = "unreadable_value";
    const refusal = (data: AgentCheckpointData) => {
      try {
        imported([step(1), fork, data]);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    expect(refusal(step(3, { branch: "other#a" }))).toMatchObject({ code });
    const { parentId: _parent, ...orphan } = begun;
    expect(refusal(orphan)).toMatchObject({ code });
    expect(refusal(step(3, { joined: "1-7" }))).toMatchObject({ code });
    expect(refusal(step(3, { agentPath: ["research"] }))).toMatchObject({ code });
  });
});
