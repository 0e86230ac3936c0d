import { SuperJSON } from "superjson";
import fc from "fast-check";
import { expect, it } from "vitest";
import { richFromJson, richToJson } from "../../../src/checkpoint/values/richValue.ts";
import { cases } from "../../soak/cases.ts";

/** The encoding of superjson with the same prefixes of keys, and with bytes as base64url. */
const superjson = new SuperJSON();
superjson.registerCustom<Uint8Array, string>(
  {
    isApplicable: (value): value is Uint8Array => value instanceof Uint8Array,
    serialize: (bytes) => Buffer.from(bytes).toString("base64url"),
    deserialize: (text) => new Uint8Array(Buffer.from(text, "base64url")),
  },
  "bytes",
);

const key = fc.oneof(fc.string(), fc.constantFrom("__proto__", "a.b", "a\\.b", "a\\", "\\\\.", ":", "0", ""));
const leaf = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.double(),
  fc.bigInt(),
  fc.constantFrom(null, undefined, -0, new URL("https://example.com/a?b#c")),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ maxLength: 5 }),
);
const value = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("node"), { maxLength: 4 }),
    fc.array(tie("node"), { maxLength: 4 }).map((items) => new Set(items)),
    fc.array(fc.tuple(tie("node"), tie("node")), { maxLength: 4 }).map((items) => new Map(items)),
    fc.array(fc.tuple(key, tie("node")), { maxLength: 4 }).map((fields) => Object.fromEntries(fields)),
  ),
})).node;

it("the rich form of a value is that of superjson, and each reads the other", () => {
  fc.assert(
    fc.property(value, (rich) => {
      const form = superjson.serialize(prefixed(rich));
      expect(JSON.stringify(richToJson(rich, "value"))).toBe(JSON.stringify(form));
      expect(richFromJson(JSON.parse(JSON.stringify(form)))).toEqual(rich);
    }),
    { numRuns: cases(500, 20_000) },
  );
});

it.each([
  ["a path that is not in the value", { json: { ":a": "1" }, meta: { values: { ":b": ["bigint"] }, v: 1 } }],
  ["a malformed path", { json: { ":a": "1" }, meta: { values: { ":a\\b": ["bigint"] }, v: 1 } }],
  ["a path into a map", { json: [[["1", 2]]], meta: { values: { "0": ["map"], "0.0.0": ["bigint"] }, v: 1 } }],
])("annotations with %s are refused", (_name, form) => {
  expect(() => richFromJson(form)).toThrow(expect.objectContaining({ code: "unreadable_value" }));
});

it("paths of the oldest form, which escapes only dots, are read", () => {
  const form = { json: { ":a\\": "1", ":b.c": "2" }, meta: { values: { ":a\\": ["bigint"], ":b\\.c": ["bigint"] } } };
  expect(richFromJson(form)).toEqual({ "a\\": 1n, "b.c": 2n });
});

/** A copy whose objects have prefixed keys. Every part is copied, because superjson notes equal references. */
function prefixed(rich: unknown): unknown {
  if (typeof rich !== "object" || rich === null) return rich;
  if (Array.isArray(rich)) return rich.map(prefixed);
  if (rich instanceof Set) return new Set([...rich].map(prefixed));
  if (rich instanceof Map) return new Map([...rich].map(([each, item]) => [prefixed(each), prefixed(item)]));
  if (rich instanceof Date) return new Date(rich);
  if (rich instanceof URL) return new URL(rich.href);
  if (rich instanceof Uint8Array) return new Uint8Array(rich);
  return Object.fromEntries(Object.entries(rich).map(([name, item]) => [`:${name}`, prefixed(item)]));
}
