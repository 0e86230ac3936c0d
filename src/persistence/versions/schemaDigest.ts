import type { z } from "zod";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

/** Long enough against accidental collisions, and short in the log. */
const digestLength = 11;

/** The parts of a zod schema that are stable between versions of zod. Functions are not compared. */
const parts = [
  "type",
  "catchall",
  "element",
  "items",
  "rest",
  "options",
  "left",
  "right",
  "keyType",
  "valueType",
  "innerType",
  "in",
  "out",
  "entries",
  "values",
  "coerce",
  "format",
  "check",
  "checks",
  "value",
  "inclusive",
  "minimum",
  "maximum",
  "length",
  "size",
  "prefix",
  "suffix",
  "includes",
] as const;

type Definition = Readonly<Record<string, unknown>>;

const known = new WeakMap<object, string>();

/**
 * Returns a digest of the values that a schema accepts, which is the same in each process. Returns an empty text
 * without a schema. Ignores functions, such as those of `refine` and `transform`, and descriptions. Visits each schema
 * object once.
 */
export function schemaDigest(schema: z.core.$ZodType | undefined, sha256: Sha256): string {
  if (schema === undefined) return "";
  const before = known.get(schema);
  if (before !== undefined) return before;
  const text = JSON.stringify(shapeOf(schema, []));
  const digest = sha256.base64url(text).slice(0, digestLength);
  known.set(schema, digest);
  return digest;
}

/** @param around the schemas that contain this schema, because a schema may be recursive. */
function shapeOf(value: unknown, around: readonly unknown[]): unknown {
  if (typeof value !== "object" || value === null) return plain(value);
  const definition = definitionOf(value);
  if (definition) {
    const at = around.indexOf(value);
    return at === -1 ? definedBy(definition, [...around, value]) : { again: around.length - at };
  }
  if (Array.isArray(value)) return value.map((part) => shapeOf(part, around));
  if (value instanceof RegExp) return String(value);
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, part]) => [key, shapeOf(part, around)]);
}

function definedBy(definition: Definition, around: readonly unknown[]): unknown {
  const { type, format, pattern, getter, shape } = definition;
  const own = parts.flatMap((part) => {
    const value = definition[part];
    return value === undefined ? [] : [[part, shapeOf(value, around)]];
  });
  return [
    ...own,
    ...(type === "object" ? [["shape", shapeOf(shape, around)]] : []),
    // Ignores patterns of other formats, because a zod version may improve its pattern for e-mail addresses.
    ...(format === "regex" ? [["pattern", String(pattern)]] : []),
    ...(typeof getter === "function" ? [["of", shapeOf((getter as () => unknown)(), around)]] : []),
  ];
}

function definitionOf(value: object): Definition | undefined {
  return (value as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
}

function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return "";
  return typeof value === "bigint" || value === undefined ? String(value) : value;
}
