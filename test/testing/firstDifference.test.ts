import { describe, expect, it } from "vitest";
import { describeValue, firstDifference } from "../../src/testing/support/Expectations.ts";

const own = (text: string) => JSON.parse(text) as unknown;

describe("the comparison of the conformance suites", () => {
  it.each<[string, unknown, unknown]>([
    ["members in another order", { a: 1, b: 2 }, { b: 2, a: 1 }],
    ["an undefined member and a missing one", { a: 1 }, { a: 1, b: undefined }],
    ["bytes of another class", new Uint8Array([1, 2]), Buffer.from([1, 2])],
    ["objects without a prototype", { a: 1 }, Object.assign(Object.create(null) as object, { a: 1 })],
    ["own __proto__ keys", own('{"__proto__":{"a":1}}'), own('{"__proto__":{"a":1}}')],
  ])("accepts as equal: %s", (_what, expected, found) => {
    expect(firstDifference(expected, found)).toBeUndefined();
  });

  it.each<[string, unknown, unknown, string]>([
    ["a text and its number", { a: "1" }, { a: 1 }, ".a"],
    ["a text and a date", { at: "2026-01-01T00:00:00.000Z" }, { at: new Date(0) }, ".at"],
    ["a missing member", { a: [{ b: null }] }, { a: [{}] }, ".a[0].b"],
    ["an additional member", {}, { "a b": 1 }, '["a b"]'],
    ["a missing item", [1, 2], [1], ""],
    ["an array and an object", [], {}, ""],
    ["null and an object", { a: null }, { a: {} }, ".a"],
    ["an instance of a class", { a: {} }, { a: new Map() }, ".a"],
    ["an inherited member", own('{"toString":1}'), {}, ".toString"],
    ["a prototype instead of a key", own('{"__proto__":{"a":1}}'), { __proto__: { a: 1 } }, ""],
    ["other bytes", new Uint8Array([1]), new Uint8Array([2]), ""],
    ["bytes and numbers", new Uint8Array([1]), [1], ""],
  ])("distinguishes: %s", (_what, expected, found, path) => {
    expect(firstDifference(expected, found)?.path).toBe(path);
  });

  it("shortens values in its messages", () => {
    expect(describeValue(undefined)).toBe("absent");
    expect(describeValue("x".repeat(1_000_000))).toHaveLength(160 + "… (1000002 characters)".length);
    expect(describeValue(new Date(0))).toBe('Date "1970-01-01T00:00:00.000Z"');
    expect(describeValue(new Uint8Array(3))).toBe("3 bytes");
    expect(describeValue(10n)).toBe("10n");
    expect(describeValue({ n: 10n })).toBe("Object that is not JSON");
    expect(describeValue(null)).toBe("null");
    expect(describeValue({ at: [null] })).toBe('{"at":[null]}');
  });
});
