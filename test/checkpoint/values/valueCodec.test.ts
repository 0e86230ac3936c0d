import { deepStrictEqual } from "node:assert";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NotSerializableError, UnreadableValueError } from "../../../src/errors/storedDataErrors.ts";
import { registerClass } from "../../../src/checkpoint/values/classRegistry.ts";
import { decodeValue, encodeValue } from "../../../src/checkpoint/values/valueCodec.ts";
import { cases } from "../../soak/cases.ts";

const runs = cases(700, 20_000);

const throughStorage = (value: unknown) => decodeValue(JSON.parse(JSON.stringify(encodeValue(value, "value"))));

const hostileKey = fc.constantFrom(
  "__proto__",
  "constructor",
  "prototype",
  "toJSON",
  "then",
  "hasOwnProperty",
  "$plain",
  "$rich",
  "$blob",
  "$message",
  "$answer",
  "$outcomes",
  "$input",
  "json",
  "meta",
  "values",
  "a.b",
  "a\\.b",
  "a\\",
  "\\\\.",
  ":x",
  "0",
  "",
  "\ud800",
  "💥",
  "referentialEqualities",
);
const key = fc.oneof(hostileKey, fc.string());
const leaf = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("undefined", "NaN", "\ud800", "Date"),
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
);
const ownObject = (entries: [string, unknown][]) => {
  const object = {};
  for (const [name, value] of entries)
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  return object;
};
const json = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("node"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("node")), { maxLength: 4 }).map(ownObject),
  ),
})).node;
const richLeaf = fc.oneof(
  leaf,
  fc.constantFrom(undefined, NaN, Infinity, -Infinity, -0),
  fc.bigInt(),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array(),
  fc.webUrl().map((url) => new URL(url)),
);
const rich = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    richLeaf,
    fc.array(tie("node"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("node")), { maxLength: 4 }).map(ownObject),
    fc.array(fc.tuple(tie("node"), tie("node")), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie("node"), { maxLength: 3 }).map((items) => new Set(items)),
  ),
})).node;

describe("the value codec", () => {
  it("restores every JSON value, with any keys", () => {
    fc.assert(
      fc.property(json, (value) => {
        deepStrictEqual(throughStorage(value), value);
      }),
      { numRuns: runs },
    );
  });

  it("stores a plain JSON value unchanged", () => {
    expect(encodeValue({ a: [1, "x", null] }, "value")).toEqual({ a: [1, "x", null] });
  });

  it("restores every rich value that it accepts", () => {
    fc.assert(
      fc.property(rich, (value) => {
        deepStrictEqual(throughStorage(value), value);
      }),
      { numRuns: runs },
    );
  });

  it("pollutes no prototype", () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    throughStorage(JSON.parse('{"__proto__":{"polluted":1},"d":{"constructor":{"prototype":{"polluted":1}}}}'));
    throughStorage(ownObject([["__proto__", new Map([["polluted", 1]])]]));
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  class Money {
    readonly cents: number;
    readonly since: Date;
    constructor(cents: number, since: Date) {
      this.cents = cents;
      this.since = since;
    }
  }

  it.each([
    ["a function", { save: () => 1 }, ".save", "function"],
    ["a function itself", () => 1, ".", "the value is a function"],
    ["an error itself", new Error("x"), ".", "the value is an instance of Error"],
    ["a symbol", { list: [Symbol("s")] }, ".list[0]", "symbol"],
    ["an unregistered class", { "odd key": new (class Secret {})() }, '["odd key"]', "Secret"],
    ["a regular expression", [/x/], "[0]", "RegExp"],
    ["an error", new Map([["e", new Error("x")]]), ".values[0]", "Error"],
    ["a hole", { list: [1, , 3] }, ".list", "hole"],
    ["a hole and a key", { list: Object.assign([1, , 3], { more: 2 }) }, ".list", "hole"],
    ["a hole in a map", new Map([["list", [1, , 3]]]), ".values[0]", "hole"],
    ["a billion holes in a set", new Set([Object.assign([], { length: 1e9 })]), ".values[0]", "hole"],
    ["an invalid date", { at: new Date(NaN) }, ".at", "invalid date"],
    ["a symbol as a key", { at: { [Symbol("s")]: 1 } }, ".at", "symbol"],
    ["a symbol as a key in a map", new Map([["at", { [Symbol("s")]: 1 }]]), ".values[0]", "symbol"],
    ["an array with keys", [Object.assign([1], { more: 2 })], "[0]", "keys of its own"],
    ["an array with keys in a set", new Set([Object.assign([1], { more: 2 })]), ".values[0]", "keys of its own"],
    ["a subclass of Array", { list: new (class List extends Array {})() }, ".list", "class made of Array"],
    ["a date with keys", { at: Object.assign(new Date(0), { zone: "UTC" }) }, ".at", "keys of its own"],
    ["a kind of map", [new (class Table extends Map {})()], "[0]", "Table"],
    ["a bigint of 10,001 digits", { many: [-(10n ** 10_000n)] }, ".many[0]", "more than 10000 digits"],
    ["a kind of URL", [new (class Link extends URL {})("https://example.org")], "[0]", "Link"],
  ])("refuses %s with the path to it", (_what, value, path, reason) => {
    const refusal = catchError(() => encodeValue(value, "input"));
    expect(refusal).toBeInstanceOf(NotSerializableError);
    expect(refusal).toMatchObject({ code: "not_serializable", path, subject: "input" });
    expect((refusal as Error).message).toContain(reason);
  });

  it("refuses cycles and excessive depth, plain and rich", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = { cycle };
    expect(() => encodeValue(cycle, "value")).toThrow(NotSerializableError);
    expect(() => encodeValue({ cycle, date: new Date() }, "value")).toThrow(NotSerializableError);
    let deep: unknown = 1;
    for (let level = 0; level < 1_100; level++) deep = [deep];
    expect(() => encodeValue(deep, "value")).toThrow(/nested deeper/);
    expect(() => encodeValue([new Date(), deep], "value")).toThrow(/nested deeper/);
  });

  it("keeps bigints of up to 10,000 digits", () => {
    const value = { most: 10n ** 10_000n - 1n, least: 1n - 10n ** 10_000n, deep: new Map([["set", new Set([-7n])]]) };
    expect(throughStorage(value)).toStrictEqual(value);
  });

  it("refuses to register anything except a name and a class", () => {
    expect(() => registerClass(Money as never, "Money" as never)).toThrow(
      /"name": .*string.*"class": .*a class .*, received string/,
    );
    expect(() => registerClass("Money", { price: 1 } as never)).toThrow(/"class": .*a class .*, received object/);
  });

  it.each([class Tags extends Set {}, class Day extends Date {}, class Failure extends Error {}, Map, () => ({})])(
    "refuses to register %s, whose data cannot be stored",
    (given) => {
      expect(() => registerClass("given", given as never)).toThrow(
        /"class": expected a class that extends no built-in class,/,
      );
    },
  );

  it("registers a function whose prototype is a plain object", () => {
    function Point() {}
    Point.prototype = { norm: () => 5 };
    registerClass("valueCodec.Point", Point as never);
    const point = Object.assign(Object.create(Point.prototype as object) as object, { x: 3 });
    expect(decodeValue(encodeValue(point, "value"))).toEqual(point);
  });

  it("restores instances of registered classes, and refuses unregistered ones", () => {
    expect(() => encodeValue(new Money(1, new Date(0)), "value")).toThrow(NotSerializableError);
    registerClass("Money", Money);
    const value = { price: new Money(5, new Date(0)) };
    expect(throughStorage(value)).toStrictEqual(value);
    const stored = JSON.stringify(encodeValue(value, "value")).replaceAll('"Money"', '"Gone"');
    expect(() => decodeValue(JSON.parse(stored))).toThrow(/no class is registered as "Gone"/);
  });

  it.each([
    '{"$rich":{"json":{":a":"/(x+)+$/"},"meta":{"values":{":a":["regexp"]},"v":1}}}',
    '{"$rich":{"json":{":a":{}},"meta":{"values":{":a":[["class","Money"]]},"v":1}}}',
    '{"$rich":{"json":{":a":{}},"meta":{"values":{"__proto__.polluted":["Date"]},"v":1}}}',
    '{"$rich":{"json":{":a":{}},"meta":{"values":{"constructor":["Date"]},"v":1}}}',
    '{"$rich":{"json":{":a":"x"},"meta":{"values":{":a":[["custom","evil"]]},"v":1}}}',
    `{"$rich":{"json":{":a":"${"9".repeat(10_001)}"},"meta":{"values":{":a":["bigint"]},"v":1}}}`,
    '{"$rich":{"json":{":a":"9"},"meta":{"values":{":a":[["custom","digits"]]},"v":1}}}',
    '{"$rich":7}',
    '{"$rich":{"json":{":a":1},"meta":{"values":7,"v":1}}}',
    '{"$blob":"x"}',
  ])("never revives a value that it would not write: %s", (stored) => {
    expect(() => decodeValue(JSON.parse(stored))).toThrow(UnreadableValueError);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

function catchError(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
