import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { z } from "zod";

/** The parts of a zod schema that are stable between versions of zod. Functions are not compared. */
const parts =
  "type catchall element items rest options left right keyType valueType innerType in out entries values coerce format check checks value inclusive minimum maximum length size prefix suffix includes shape pattern getter".split(
    " ",
  );

type Definition = Readonly<Record<string, unknown>>;

/** The state while the shape of a schema is written. */
interface Walk {
  /** The schemas to which another schema can refer, with the number of schemas before each. */
  readonly schemas: Map<object, number>;
  /** The number of visits left. If unlimited, schemas refer to all earlier schemas, not only to those around them. */
  left: number;
}

/** The first schema that each getter returned. A getter can create an equal schema on every call. */
const returned = new WeakMap<() => object, object>();

const known = new WeakMap<object, string>();

/**
 * Returns a digest of the values that a schema accepts, which is the same in each process. Returns an empty text
 * without a schema. Ignores descriptions and functions, such as the arguments of `refine` and `transform`.
 */
export function schemaDigest(schema: z.core.$ZodType | undefined, sha256: Sha256): string {
  if (schema === undefined) return "";
  const before = known.get(schema);
  if (before !== undefined) return before;
  // Digests of stored runs repeat a shared schema at each use. In large schemas this would take exponential time.
  const text = written(schema, 10_000) ?? written(schema, Infinity)!;
  // Long enough to avoid accidental collisions, and short in the log.
  const digest = sha256.base64url(text).slice(0, 11);
  known.set(schema, digest);
  return digest;
}

function written(schema: object, left: number): string | undefined {
  const walk = { schemas: new Map<object, number>(), left };
  const shape = shapeOf(schema, walk);
  return walk.left < 0 ? undefined : JSON.stringify(shape);
}

function shapeOf(value: unknown, walk: Walk): unknown {
  if (typeof value !== "object" || value === null) return plain(value);
  const definition = definitionOf(value);
  if (definition) return shapeOfSchema(value, definition, walk);
  if (Array.isArray(value)) return value.map((part) => shapeOf(part, walk));
  if (value instanceof RegExp) return String(value);
  return Object.keys(value)
    .sort()
    .map((key) => [key, shapeOf((value as Definition)[key], walk)]);
}

function shapeOfSchema(schema: object, definition: Definition, walk: Walk): unknown {
  const { schemas, left } = walk;
  const at = schemas.get(schema);
  if (at !== undefined) return { again: schemas.size - at };
  if (walk.left-- <= 0) return undefined;
  schemas.set(schema, schemas.size);
  const shape = definedBy(definition, walk);
  if (left < Infinity) schemas.delete(schema);
  return shape;
}

function definedBy(definition: Definition, walk: Walk): unknown {
  return parts.flatMap((part) => {
    const value = definition[part];
    // Patterns of other formats are ignored, because zod versions can change them, such as the pattern for e-mail
    // addresses.
    if (value === undefined || (part === "pattern" && definition["format"] !== "regex")) return [];
    return [part === "getter" ? ["of", shapeOf(schemaOf(value as () => object), walk)] : [part, shapeOf(value, walk)]];
  });
}

function schemaOf(getter: () => object): object {
  const schema = returned.get(getter) ?? getter();
  returned.set(getter, schema);
  return schema;
}

function definitionOf(value: object): Definition | undefined {
  return (value as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
}

function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return "";
  return typeof value === "bigint" || value === undefined ? String(value) : value;
}
