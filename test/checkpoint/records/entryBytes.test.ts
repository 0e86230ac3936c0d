import fc from "fast-check";
import { expect, it } from "vitest";
import { entryBytes, recordBytes } from "../../../src/checkpoint/records/Entry.ts";
import { estimateBytes } from "../../../src/checkpoint/values/estimateBytes.ts";

const record = fc.jsonValue().map((value) => ({ kind: "storage", value }));
const records = fc.array(record, { minLength: 1 }).chain((all) => fc.tuple(fc.constant(all), fc.constantFrom(...all)));

it("the size of a record follows from the size of its append", () => {
  fc.assert(
    fc.property(records, ([all, one]) => {
      expect(recordBytes(one, all, entryBytes(all))).toBe(estimateBytes(one));
    }),
  );
});

it("a size is about the length of the JSON text", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 50 })), (texts) => {
      const value = texts.map((text, at) => ({ [`key ${at}`]: [text, at, null] }));
      expect(estimateBytes(value)).toBeGreaterThanOrEqual(JSON.stringify(texts.map((text) => text.length)).length);
      expect(estimateBytes(value)).toBeLessThanOrEqual(2 * JSON.stringify(value).length + 2);
    }),
  );
});
