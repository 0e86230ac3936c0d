import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../src/checkpoint/records/AgentRecord.ts";
import { branchesOf } from "../../src/checkpoint/state/BranchChanges.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { readHead } from "../../src/storage/readHead.ts";
import { branch, checkpoint, lane, run } from "../checkpoint/support/projection.ts";

const message = (on: number, number: number, slot: unknown = { role: "user", content: `m${number}` }): AgentRecord => ({
  kind: "message",
  lane: on,
  number,
  message: slot,
});

/** A log in memory that a test appends to, and its head as the next process in it reads it. */
async function written(...appends: readonly (readonly AgentRecord[])[]) {
  const log = new MemoryRecordLog();
  const owned = await log.open("a", processOwner());
  const append = async (...more: readonly (readonly AgentRecord[])[]) => {
    for (const records of more)
      await owned.append(
        { id: `1-${owned.position + 1}`, records: structuredClone(records) as AgentRecord[] },
        owned.position,
      );
  };
  await append(...appends);
  const put = async (text: string) => log.blobs.put("a", 1, new TextEncoder().encode(text));
  return { log, append, put, head: () => readHead(log, "a") };
}

const begun = [
  [run, lane(1, { keep: "nothing" }), message(1, 1), checkpoint(1, 1)],
  [checkpoint(1, 2, { node: "both" })],
] as const;

describe("the head of a log with open branches", () => {
  it("has the state of every open branch and the outputs of the finished ones", async () => {
    const { append, head } = await written(...begun);
    expect((await head()).lines.size).toBe(0);
    await append([...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])], [message(3, 2), checkpoint(3, 5)]);
    await append([message(2, 3), checkpoint(2, 6, { ended: true, input: "out" })]);
    const { state, lines, log } = await head();
    expect(state).toMatchObject({ lane: 1, checkpoint: { version: 2 } });
    expect([...lines].map(([on, { history }]) => [on, history.map(({ number }) => number)])).toEqual([[3, [1, 2]]]);
    expect(branchesOf(log.index, 2).get("a")?.output).toBe("out");
  });

  it("has the large values of open branches and of outputs to be joined", async () => {
    const { append, put, head } = await written(...begun);
    const blob = async (text: string) => {
      const json = JSON.stringify(text.repeat(100));
      return { $blob: [await put(json), json.length] };
    };
    const [mine, output] = [await blob("mine"), await blob("output")];
    await append([...branch(2, 3, [1, 2, "a"]), ...branch(3, 4, [1, 2, "b"])]);
    await append([message(3, 2, mine), checkpoint(2, 5, { ended: true, input: output })]);
    const { lines, log } = await head();
    const [state] = lines.values();
    expect(log.reader(state as never).read(state?.history.at(-1)?.message)).toBe("mine".repeat(100));
    expect(log.readValue(branchesOf(log.index, 2).get("a")?.output)).toBe("output".repeat(100));
  });

  it("is read from the log while branches are open, and from memory afterwards", async () => {
    const { append, head } = await written(...begun);
    await head();
    await append([...branch(2, 3, [1, 2, "a"])], [message(2, 2), checkpoint(2, 4, { ended: true })]);
    expect((await head()).log.index.latestOf(2)?.version).toBe(4);
    await append([checkpoint(1, 5, { node: "both", joined: 2 })]);
    expect(branchesOf((await head()).log.index, 2).get("a")?.messages).toHaveLength(1);
    await append([message(1, 3, { $message: [2, 2] }), checkpoint(1, 6)]);
    const numbers = async () => (await head()).state?.history.map((entry) => [entry.number, entry.message]);
    const expected = [
      [1, { role: "user", content: "m1" }],
      [3, { role: "user", content: "m2" }],
    ];
    expect(await numbers()).toEqual(expected);
    await append([message(1, 4, { $message: [2, 2] }), checkpoint(1, 7)]);
    expect(await numbers()).toEqual([...expected, [4, { role: "user", content: "m2" }]]);
    expect((await head()).lines.size).toBe(0);
  });
});
