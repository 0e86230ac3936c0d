import { describe, expect, it } from "vitest";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { checkpointData } from "../../../src/checkpoint/data/checkpointData.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { branch, checkpoint, extended, lane, projectionOf, run, subAgent } from "../support/projection.ts";

const asked = (on: number, base: number, request: string): AgentRecord => ({
  kind: "request",
  lane: on,
  visit: [base, 0],
  request,
  node: "n",
  prompt: "?",
  schema: {},
  waitingFor: "user_input",
});
const replied = (on: number, request: string): AgentRecord => ({ kind: "reply", lane: on, request, at: 0, answer: 1 });

/** A fork at checkpoint 2, with the branches a (lane 2) and b (lane 3). */
const forked = () =>
  projectionOf(
    [run, lane(1, { keep: "nothing" }), checkpoint(1, 1), checkpoint(1, 2, { node: "both" })],
    [...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])],
  );

const branchesOf = (index: LogProjection, version: number) => {
  const point = index.checkpoints.get(version);
  if (!point) throw new TypeError(`There is no checkpoint ${version}.`);
  return checkpointData(new AgentLog("a", index, new Map()), point).branches?.map(({ path, nodeId, status }) => [
    path,
    nodeId,
    status,
  ]);
};

describe("the branches of a checkpoint", () => {
  it("wait while they have an open request from their current visit", () => {
    const index = extended(forked(), [asked(2, 3, "r"), asked(3, 4, "s")], [replied(3, "s")]);
    expect(branchesOf(index, 2)).toEqual([
      ["both#a", "n3", "waiting"],
      ["both#b", "n4", "in_progress"],
    ]);
    extended(index, [replied(2, "r"), asked(2, 3, "r")], [checkpoint(3, 5), asked(3, 4, "t")]);
    expect(branchesOf(index, 2)).toEqual([
      ["both#a", "n3", "waiting"],
      ["both#b", "n5", "in_progress"],
    ]);
  });

  it("wait while all unfinished lines in them wait", () => {
    const index = extended(
      forked(),
      [checkpoint(2, 5, { node: "a/inner" })],
      [...branch(4, 6, [2, 5, "x"]), ...branch(5, 7, [2, 5, "y"]), asked(4, 6, "r")],
    );
    expect(branchesOf(index, 2)?.[0]).toEqual(["both#a", "a/inner", "in_progress"]);
    extended(index, [checkpoint(5, 8, { ended: true, node: "finish" })]);
    expect(branchesOf(index, 2)?.[0]).toEqual(["both#a", "a/inner", "waiting"]);
    expect(branchesOf(index, 5)).toEqual([
      ["both#a/inner#x", "n6", "waiting"],
      ["both#a/inner#y", "finish", "completed"],
    ]);
  });

  it("are shown as they were at the time of the checkpoint, or as they are now for the newest checkpoint of a line", () => {
    const index = projectionOf(
      [run, lane(1, { keep: "nothing" }), checkpoint(1, 1)],
      [{ kind: "intent", lane: 1, visit: [1, 0], call: "c", tool: "research", effect: "none", node: "n1" }],
      [...subAgent(2, 2, [1, "c"]), asked(2, 2, "r")],
      [checkpoint(1, 3, { visit: [1, 0] })],
      [replied(2, "r"), checkpoint(2, 4)],
    );
    expect([branchesOf(index, 1), branchesOf(index, 3)]).toEqual([undefined, [["research", "n4", "in_progress"]]]);
    extended(index, [checkpoint(1, 5, { visit: [1, 0] })], [checkpoint(2, 6, { ended: true })]);
    expect([branchesOf(index, 3), branchesOf(index, 5)]).toEqual([
      [["research", "n2", "waiting"]],
      [["research", "n6", "completed"]],
    ]);
    extended(index, [checkpoint(1, 7)]);
    expect([branchesOf(index, 5), branchesOf(index, 7)]).toEqual([[["research", "n4", "in_progress"]], undefined]);
  });

  it("belong to their newest lane after a move", () => {
    const index = extended(
      forked(),
      [checkpoint(2, 5)],
      [lane(4, { from: 3, place: { parent: 1, fork: 2, branch: "a" } }), checkpoint(4, 6, { node: "again" })],
    );
    expect(branchesOf(index, 2)?.[0]).toEqual(["both#a", "again", "in_progress"]);
  });
});
