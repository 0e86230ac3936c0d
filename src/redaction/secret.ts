import { z } from "zod";

const secrets = z.registry<{ readonly secret: true }>();

/**
 * Marks a field of a tool's input schema as secret. `redaction()` then redacts the values of the field, including all
 * nested values, in calls of the tool. Call `secret()` last, or before `optional()` and similar methods.
 *
 * @example
 * ```ts
 * const inputSchema = z.object({ amount: z.number(), card: z.object({ number: secret(z.string()) }) });
 * ```
 */
export function secret<Schema extends z.core.$ZodType>(schema: Schema): Schema {
  secrets.add(schema, { secret: true });
  return schema;
}

/**
 * Returns the paths of the secret fields of a schema. `*` is any key. If the whole schema is secret, the path is empty.
 * If a field contains itself and a secret, the whole field is redacted. If the keys of a record are secret, the whole
 * record is redacted.
 */
export function secretPaths(schema: Schema): readonly (readonly string[])[] {
  return pathsIn(schema, new Set());
}

/** The maximum depth of schemas, because a getter can create new schemas without end. */
const deepest = 32;

type Schema = z.core.$ZodType;

/** A part of a schema, and the key of its values. `undefined` if its values are those of the schema itself. */
type Part = readonly [key: string | undefined, part: unknown];

function pathsIn(schema: Schema, around: ReadonlySet<Schema>): readonly (readonly string[])[] {
  if (secrets.get(schema)) return [[]];
  if (around.has(schema) || around.size > deepest) return hasSecret(schema) ? [[]] : [];
  const { keyType } = definitionOf(schema);
  if (schemasIn(keyType).some((key) => hasSecret(key))) return [[]];
  const within = new Set([...around, schema]);
  return partsOf(schema).flatMap(([key, part]) =>
    schemasIn(part).flatMap((each) => pathsIn(each, within).map((path) => (key === undefined ? path : [key, ...path]))),
  );
}

function hasSecret(schema: Schema, searched: Set<Schema> = new Set(), depth = 0): boolean {
  if (secrets.get(schema)) return true;
  if (searched.has(schema) || depth > deepest) return false;
  searched.add(schema);
  const parts: readonly Part[] = [...partsOf(schema), [undefined, definitionOf(schema)["keyType"]]];
  return parts.some(([, part]) => schemasIn(part).some((each) => hasSecret(each, searched, depth + 1)));
}

function partsOf(schema: Schema): readonly Part[] {
  const { shape = {}, catchall, keyType: _keyType, valueType, getter, ...others } = definitionOf(schema);
  return [
    ...Object.entries(shape as object),
    ["*", catchall],
    ["*", valueType],
    ...(typeof getter === "function" ? [[undefined, (getter as () => unknown)()] as const] : []),
    ...Object.values(others).map((part) => [undefined, part] as const),
  ];
}

function definitionOf(schema: Schema): Readonly<Record<string, unknown>> {
  return schema._zod.def as unknown as Readonly<Record<string, unknown>>;
}

function schemasIn(value: unknown): readonly Schema[] {
  if (Array.isArray(value)) return value.flatMap(schemasIn);
  return isSchema(value) ? [value] : [];
}

/** Returns whether a value is a schema of Zod 4. */
export function isSchema(value: unknown): value is Schema {
  return typeof (Object(value) as { readonly _zod?: { readonly def?: unknown } })._zod?.def === "object";
}
