import fc from "fast-check";
import { expect, it } from "vitest";
import { estimateBytes } from "../../../src/checkpoint/values/estimateBytes.ts";

it("a size is about the length of the JSON text", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 50 })), (texts) => {
      const value = texts.map((text, at) => ({ [`key ${at}`]: [text, at, null] }));
      expect(estimateBytes(value)).toBeGreaterThanOrEqual(JSON.stringify(texts.map((text) => text.length)).length);
      expect(estimateBytes(value)).toBeLessThanOrEqual(2 * JSON.stringify(value).length + 2);
    }),
  );
});
