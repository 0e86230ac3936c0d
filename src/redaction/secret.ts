import { z } from "zod";

const secrets = z.registry<{ readonly secret: true }>();

/**
 * Marks a field of a tool's input schema as secret. `redaction()` then redacts its values in the calls of the tool, with
 * everything below them. Call it last, or before `optional()` and the like.
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

/** Returns the paths of the secret fields of a schema. `*` is any key. A secret schema itself has an empty path. */
export function secretPaths(schema: z.core.$ZodType): readonly (readonly string[])[] {
  return pathsIn(schema, new Set());
}

type Definition = Readonly<Record<string, unknown>>;

function pathsIn(schema: z.core.$ZodType, around: ReadonlySet<z.core.$ZodType>): readonly (readonly string[])[] {
  if (around.has(schema)) return [];
  if (secrets.get(schema)) return [[]];
  const within = new Set([...around, schema]);
  const below = (key: string | undefined, nested: unknown) =>
    schemasIn(nested).flatMap((each) =>
      pathsIn(each, within).map((path) => (key === undefined ? path : [key, ...path])),
    );
  const definition = schema._zod.def as unknown as Definition;
  const { shape = {}, catchall, keyType: _keyType, valueType, getter, ...others } = definition;
  return [
    ...Object.entries(shape as object).flatMap(([key, field]) => below(key, field)),
    ...below("*", catchall),
    ...below("*", valueType),
    ...(typeof getter === "function" ? below(undefined, (getter as () => unknown)()) : []),
    ...Object.values(others).flatMap((nested) => below(undefined, nested)),
  ];
}

function schemasIn(value: unknown): readonly z.core.$ZodType[] {
  if (Array.isArray(value)) return value.flatMap(schemasIn);
  return typeof (Object(value) as { readonly _zod?: { readonly def?: unknown } })._zod?.def === "object"
    ? [value as z.core.$ZodType]
    : [];
}
