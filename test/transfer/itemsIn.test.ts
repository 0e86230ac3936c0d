import { describe, expect, it } from "vitest";
import { itemsIn } from "../../src/transfer/ArchiveReader.ts";

describe("itemsIn", () => {
  it.each([
    ["", 1],
    ["[[],[]]", 5],
    ['{"a":1,"b":[2]}', 6],
    ['"[[[,,,{:"', 1],
    [String.raw`["\",[","\\",1]`, 4],
    ['["open [[[', 2],
    [String.raw`["open \ `.trim(), 2],
  ])("counts the values and keys of %s outside of strings", (text, count) => {
    expect(itemsIn(Buffer.from(text))).toBe(count);
  });
});
