type Definition = Readonly<Record<string, unknown>>;

const parts =
  "type catchall element items rest options left right keyType valueType innerType in out entries values coerce format check checks value inclusive minimum maximum length size prefix suffix includes".split(
    " ",
  );

/** Returns the text whose digest earlier versions stored. It expands a shared schema on every path. */
export function expandedText(schema: object): string {
  return JSON.stringify(shapeOf(schema, []));
}

function shapeOf(value: unknown, around: readonly unknown[]): unknown {
  if (typeof value !== "object" || value === null) return plain(value);
  const definition = (value as { readonly _zod?: { readonly def?: Definition } })._zod?.def;
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
    ...(format === "regex" ? [["pattern", String(pattern)]] : []),
    ...(typeof getter === "function" ? [["of", shapeOf((getter as () => unknown)(), around)]] : []),
  ];
}

function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return "";
  return typeof value === "bigint" || value === undefined ? String(value) : value;
}
