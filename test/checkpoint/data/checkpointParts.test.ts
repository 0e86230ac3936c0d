import fc from "fast-check";
import { expect, it } from "vitest";
import { checkpointParts, surelyFits } from "../../../src/checkpoint/data/checkpointParts.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";

const bytesOf = (record: AgentRecord) => checkpointParts([{ name: "a", record }])[0]?.bytes ?? 0;
const storing = (value: unknown): AgentRecord => ({ kind: "storage", lane: 1, key: "k", value }) as AgentRecord;

it.each([
  ["escaped characters", "\0".repeat(1_000)],
  ["halves of surrogate pairs", "\ud800".repeat(1_000)],
  ["long numbers", Array.from({ length: 1_000 }, () => -1.7976931348623157e-300)],
  ["escaped keys", Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${"\u0001".repeat(20)}${at}`, 0]))],
])("%s above a limit do not surely fit", (_name, value) => {
  const record = storing(value);
  expect(surelyFits([record], false, bytesOf(record) - 1)).toBe(false);
});

it("no record above a limit surely fits", () => {
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }), fc.array(fc.double()));
  fc.assert(
    fc.property(value, (given) => {
      const record = storing(given);
      expect(surelyFits([record], false, bytesOf(record) - 1)).toBe(false);
    }),
  );
});
