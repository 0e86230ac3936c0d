import fc from "fast-check";
import { expect, it } from "vitest";
import { historyDelta } from "../../../src/checkpoint/data/lineSnapshot.ts";
import { HistoryFold } from "../../../src/checkpoint/messages/LinkedHistory.ts";

const entry = (number: number) => ({ number, message: `m${number}` });

it("the difference of two histories transforms one into the other", () => {
  const numbers = fc.uniqueArray(fc.nat(12), { maxLength: 12 });
  const places = fc.array(fc.record({ at: fc.nat(12), keep: fc.boolean() }), { maxLength: 8 });
  const check = fc.property(numbers, places, (known, changes) => {
    const before = known.map(entry);
    const after = before.filter((_each, at) => changes[at]?.keep !== false);
    for (const [at, change] of changes.entries()) after.splice(change.at % (after.length + 1), 0, entry(100 + at));
    const fold = new HistoryFold(before);
    for (const record of historyDelta(1, before, after))
      if (record.kind === "message") fold.push({ number: record.number, message: record.message });
      else fold.edit(record);
    expect(fold.entries()).toEqual(after);
  });
  fc.assert(check, { numRuns: 1_000 });
});
