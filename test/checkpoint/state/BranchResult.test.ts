import { describe, expect, it } from "vitest";
import type { StoredMessage } from "../../../src/checkpoint/messages/LinkedHistory.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import { branchesOf, joinedBranches } from "../../../src/checkpoint/state/BranchChanges.ts";
import { foldLine, foldTo } from "../../../src/checkpoint/state/foldTo.ts";
import type { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";
import { linePath } from "../../../src/checkpoint/data/linePath.ts";
import { ValueReader } from "../../../src/checkpoint/state/ValueReader.ts";
import { branch, checkpoint, extended, lane, projectionOf, run, subAgent } from "../support/projection.ts";

const user = (content: string) => ({ role: "user", content });
const message = (on: number, number: number, slot: unknown = user(`m${number}`)): AgentRecord => ({
  kind: "message",
  lane: on,
  number,
  message: slot,
});
const stored = (on: number, key: string, ...value: readonly unknown[]): AgentRecord => ({
  kind: "storage",
  lane: on,
  key,
  ...(value.length > 0 && { value: value[0] }),
});
const answer = (on: number, base: number, text: string): AgentRecord => ({
  kind: "answer",
  lane: on,
  visit: [base, 0],
  ordinal: 0,
  node: "n",
  message: { role: "assistant", content: text },
});

/** A fork at checkpoint 2, whose history has the messages 1 and 2, with the branches a (lane 2) and b (lane 3). */
const forked = () =>
  projectionOf(
    [run, lane(1, { keep: "nothing" }), checkpoint(1, 1)],
    [message(1, 1), message(1, 2), stored(1, "k", "old"), stored(1, "gone", 1), checkpoint(1, 2, { node: "both" })],
    [...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])],
  );

const join = (index: LogProjection, version: number, ...records: readonly AgentRecord[]) =>
  extended(index, [checkpoint(1, version, { node: "both", joined: 2 })], ...(records.length > 0 ? [records] : []));

const of = (index: LogProjection, key: string) => {
  const result = index.latest && joinedBranches(index, index.latest)?.get(key);
  if (!result) throw new TypeError(`There is no branch ${key}.`);
  return result;
};

const texts = (messages: readonly StoredMessage[]) =>
  messages.map(({ number, message: value }) => [number, (value as { readonly content: unknown }).content]);

describe("the result of a joined branch", () => {
  it("is its output, messages, storage, decisions and requirements", () => {
    const decision = { kind: "decision", lane: 2, at: 0, node: "n", decision: "yes" } as const;
    const requirements = { kind: "requirements", lane: 2, files: ["a.txt"], environment: {} } as const;
    const index = join(
      extended(
        forked(),
        [message(2, 3), stored(2, "k", "new"), stored(2, "gone"), decision, checkpoint(2, 5, { iteration: 1 })],
        [message(3, 4), stored(3, "mine", [7]), requirements],
        [checkpoint(2, 6, { input: { $message: 3 }, iteration: 2, ended: true })],
        [checkpoint(3, 7, { input: 8, ended: true })],
      ),
      8,
    );
    const a = of(index, "a");
    expect(a.output).toEqual(user("m3"));
    expect(texts(a.messages)).toEqual([[3, "m3"]]);
    expect(Object.fromEntries(a.storage)).toEqual({ k: { value: "new" }, gone: undefined });
    expect(a.decisions).toEqual([decision]);
    expect([a.requirements, of(index, "b").requirements]).toEqual([requirements, undefined]);
    expect([a.iterations, of(index, "b").iterations]).toEqual([2, 0]);
    expect(of(index, "b").output).toBe(8);
    expect(Object.fromEntries(of(index, "b").storage)).toEqual({ mine: { value: [7] } });
  });

  it("contains the responses and outcomes that its messages refer to, even from nested branches", () => {
    const call = { visit: [5, 0], call: "c", tool: "t", effect: "none", node: "n" } as const;
    const tool = { $outcomes: [{ part: { type: "tool-result", toolCallId: "c", toolName: "t" } }] };
    const index = join(
      extended(
        forked(),
        [answer(2, 3, "thought"), message(2, 3, { $answer: [3, 0, 0] }), checkpoint(2, 5, { node: "inner" })],
        [...branch(4, 6, [2, 5, "x"])],
        [{ kind: "outcome", lane: 4, output: 42, ...call }, message(4, 4, tool)],
        [checkpoint(4, 7, { ended: true, input: { $message: 4 } })],
        [checkpoint(2, 8, { joined: 5, node: "inner" })],
        [message(2, 5, { $message: [4, 4] }), checkpoint(2, 9, { ended: true, input: { $message: 5 } })],
      ),
      10,
    );
    const expected = { $outcomes: [{ ...tool.$outcomes[0], output: 42 }] };
    expect(of(index, "a").messages).toEqual([
      { number: 3, message: { role: "assistant", content: "thought" } },
      { number: 5, message: expected },
    ]);
    expect(of(index, "a").output).toEqual(expected);
  });

  it("contains the remaining values after moves within the branch", () => {
    const index = join(
      extended(
        forked(),
        [message(2, 3), stored(2, "k", 1), checkpoint(2, 5)],
        [message(2, 4), stored(2, "k", 2), checkpoint(2, 6)],
        [lane(4, { from: 5, place: { parent: 1, fork: 2, branch: "a" } }), checkpoint(4, 7)],
        [message(4, 5), checkpoint(4, 8, { ended: true })],
      ),
      9,
    );
    expect(texts(of(index, "a").messages)).toEqual([
      [3, "m3"],
      [5, "m5"],
    ]);
    expect(Object.fromEntries(of(index, "a").storage)).toEqual({ k: { value: 1 } });
    expect(of(index, "a").lanes).toEqual([2, 4]);
  });

  it("keeps the order of its messages if the branch edited its initial history", () => {
    const edit = (remove: readonly (readonly [number, number])[], numbers: readonly number[], before?: number) =>
      ({
        kind: "edit",
        lane: 2,
        remove,
        insert: numbers.map((number) => ({ number, message: user(`m${number}`) })),
        ...(before !== undefined && { before }),
      }) as const;
    const index = join(
      extended(
        forked(),
        [message(2, 3), edit([], [4], 2), edit([[1, 1]], [5], 4), edit([[3, 3]], [])],
        [checkpoint(2, 5, { ended: true })],
      ),
      6,
    );
    expect(texts(of(index, "a").messages)).toEqual([
      [5, "m5"],
      [4, "m4"],
    ]);
  });

  it("is known before the join, during merge, and after a move back to the join", () => {
    const open = extended(forked(), [checkpoint(2, 5, { ended: true, input: 1 })]);
    expect(joinedBranches(open, open.latest as never)).toBeUndefined();
    const known = [...branchesOf(open, 2)].map(([key, { output, checkpoint: newest }]) => [
      key,
      output,
      newest?.version,
    ]);
    expect(known).toEqual([
      ["a", 1, 5],
      ["b", undefined, 4],
    ]);
    const joined = join(open, 6);
    const within = extended(joined, [checkpoint(1, 7, { visit: [6, 0] })]);
    expect(of(within, "a").output).toBe(1);
    const back = extended(
      within,
      [checkpoint(1, 8)],
      [lane(5, { from: 6 }), checkpoint(5, 9, { visit: [6, 0], joined: 2 })],
    );
    expect(of(back, "a").output).toBe(1);
    const after = extended(back, [checkpoint(5, 10)]);
    expect(joinedBranches(after, after.latest as never)).toBeUndefined();
  });

  it("costs in proportion to the branch's records, not to its initial history", () => {
    const index = projectionOf([run, lane(1, { keep: "nothing" }), checkpoint(1, 1)]);
    for (let number = 1; number <= 1_000; number++) extended(index, [message(1, number)]);
    extended(index, [checkpoint(1, 2)]);
    for (let at = 0; at < 1_000; at++)
      extended(index, [
        ...branch(at + 2, 2 * at + 3, [1, 2, `${at}`]),
        message(at + 2, 2_000 + at),
        checkpoint(at + 2, 2 * at + 4, { ended: true }),
      ]);
    extended(index, [checkpoint(1, 5_000, { joined: 2 })]);
    const history = index.laneRecords.get(1) ?? [];
    let looks = 0;
    const counted = new Proxy(history, {
      get: (target, key, receiver) => {
        looks++;
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    index.laneRecords.set(1, counted);
    for (const result of joinedBranches(index, index.latest as never)?.values() ?? [])
      expect(result.messages).toHaveLength(1);
    expect(looks).toBe(0);
  });
});

describe("records after a join that refer to values of a branch", () => {
  it("have the value in the state of their line and of every later checkpoint", () => {
    const index = extended(
      forked(),
      [answer(2, 3, "found"), message(2, 3, { $answer: [3, 0, 0] }), checkpoint(2, 5, { ended: true })],
      [checkpoint(3, 6, { ended: true })],
      [checkpoint(1, 7, { joined: 2, node: "both" })],
      [
        message(1, 4, { $message: [3, 2] }),
        {
          kind: "edit",
          lane: 1,
          remove: [],
          before: 1,
          insert: [{ number: 5, message: { $answer: [3, 0, 0, null, 2] } }],
        },
        checkpoint(1, 8, { input: { $answer: [3, 0, 0, null, 2] } }),
      ],
      [message(1, 6, { $message: 5 }), checkpoint(1, 9, { input: { $message: 4 } })],
    );
    const found = { role: "assistant", content: "found" };
    const state = foldTo(index);
    expect(state?.history.slice(0, 4)).toEqual([
      { number: 5, message: found },
      { number: 1, message: user("m1") },
      { number: 2, message: user("m2") },
      { number: 4, message: found },
    ]);
    const at = foldTo(index, index.checkpoints.get(8));
    expect(at?.checkpoint?.record.input).toEqual(found);
    const reader = new ValueReader(state as never, new Map());
    expect(reader.read(state?.checkpoint?.record.input)).toEqual(found);
  });

  it("stay unchanged if the value is missing or they refer to themselves", () => {
    const index = extended(
      forked(),
      [message(2, 3, { $message: [4, 3] }), message(3, 4, { $message: [3, 2] })],
      [
        message(1, 5, { $message: [3, 2] }),
        message(1, 6, { $message: [9, 2] }),
        message(1, 7, { $answer: [1, 0, 0, null, 70] }),
      ],
    );
    const state = foldLine(index, 1);
    const reader = new ValueReader(state as never, new Map());
    for (const { message: slot } of state?.history.slice(-3) ?? [])
      expect(() => reader.read(slot)).toThrow(expect.objectContaining({ code: "unreadable_value" }));
  });
});

describe("the path of a line", () => {
  it("names nested branches by the nodes between them, and called agents by their tools", () => {
    const intent = {
      kind: "intent",
      lane: 4,
      visit: [6, 0],
      call: "c",
      tool: "research",
      effect: "none",
      node: "x",
    } as const;
    const index = extended(
      forked(),
      [checkpoint(2, 5, { node: "shout/inner" })],
      [...branch(4, 6, [2, 5, "x"])],
      [intent, ...subAgent(5, 7, [4, "c"])],
      [checkpoint(5, 8, { node: "sub/all" })],
      [...branch(6, 9, [5, 8, "0"])],
      [...subAgent(7, 10, [1, "unknown"])],
    );
    expect([1, 2, 4, 5, 6, 7].map((each) => linePath(index, each))).toEqual([
      { agentPath: [] },
      { branch: "both#a", agentPath: [] },
      { branch: "both#a/inner#x", agentPath: [] },
      { branch: "both#a/inner#x", agentPath: ["research"] },
      { branch: "both#a/inner#x/sub/all#0", agentPath: ["research"] },
      { agentPath: [""] },
    ]);
  });
});
