/** JSON values that storages often lose or change, by their special property. Each call returns a new value. */
export const jsonValues: Readonly<Record<string, () => unknown>> = {
  "empty values": () => ({ text: "", list: [], object: {}, nothing: null, lists: [[], [[]], [{}]], "": { "": "" } }),
  "numbers as they are": () => [0, -1, 0.1, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 2 ** 53, -(2 ** 53), 0.1 + 0.2],
  "text that looks like another type": () => "1 true null 2026-01-01T00:00:00.000Z NaN undefined [] {}".split(" "),
  "an own key __proto__": () =>
    JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":1,"b":[{"__proto__":null}]}}') as unknown,
  "keys named as members of objects": () =>
    JSON.parse(
      '{"constructor":{"prototype":{"x":1}},"prototype":2,"toString":"a","valueOf":null,"hasOwnProperty":3,"length":-1}',
    ) as unknown,
  "keys named toJSON and then": () =>
    JSON.parse('{"toJSON":"text","then":"later","nested":[{"toJSON":{"then":null}}]}') as unknown,
  "keys with delimiters": () => ({
    ...Object.fromEntries(["a.b", "a[0]", "a/b", "$set", "a\0b", "🙂", "10", "9", " "].map((key, n) => [key, n])),
    $ref: "#/a",
  }),
  "Unicode unchanged": () =>
    "é e\u0301 😀 \u2028\u2029 \ufeff \0 \u0001\u001f\u007f \ufffd \u200fאב \r\n\r\n\t".split(" "),
  "halves of surrogate pairs": () => ({
    "\ud800": "\ud800",
    "\udfff": "x\udc00y",
    order: "\ude00\ud83d",
    list: ["\udbff", "\udc00"],
  }),
  "what looks like this library's own encoding": () => [
    { $plain: 1 },
    { $rich: { json: "x", meta: { values: ["Date"] } } },
    { $blob: ["blob://../../etc/passwd", 1] },
    { $message: 1 },
    { $answer: [1, 0, 0] },
    { $outcomes: [{ part: {} }] },
    { json: {}, meta: { values: { a: ["Date"] } } },
    { $plain: { $plain: { $rich: 2 } } },
  ],
  "an encoded value, as this library hands it over": () => ({
    $rich: { json: { at: "2026-01-01T00:00:00.000Z" }, meta: { values: { at: ["Date"] } } },
  }),
  "what looks like a reference of this library": () => ({ $blob: ["blob://../../etc/passwd", 1] }),
  "what looks like other libraries' types": () => [
    { type: "Buffer", data: [1] },
    { lc: 1, type: "constructor", id: ["x"], kwargs: {} },
    { __type: "Date", value: 0 },
    { $date: 1 },
    { "@type": "x" },
    { S: "text" },
    { N: "1" },
    { $numberLong: "1" },
    { _bsontype: "ObjectId" },
  ],
  "nine hundred levels": () => nested(900),
  "a megabyte of text": () => "0123456789abcdef".repeat(65_536),
  "ten thousand keys": () => Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`key ${n}`, n])),
};

function nested(levels: number): unknown {
  let value: unknown = "the innermost";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { inner: value };
  return value;
}

/** Changes every mutable part of a value, like a careless caller. */
export function changeDeeply(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (value instanceof Uint8Array) return void value.fill(0x21);
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(value, key)) changeDeeply((value as Record<string, unknown>)[key]);
    Reflect.defineProperty(value, key, { value: "changed by the test", writable: true, enumerable: true });
  }
  Reflect.set(value, Array.isArray(value) ? value.length : "added", "added by the test");
}
