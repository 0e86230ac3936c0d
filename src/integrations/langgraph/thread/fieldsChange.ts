import type { Json } from "../values/Json.ts";
import type { FieldsChange } from "./GraphRecord.ts";

export type Fields = ReadonlyMap<string, Json>;

export function fieldsOf(value: Readonly<Record<string, Json>>): Fields {
  return new Map(Object.entries(value));
}

export function fieldsChange(before: Fields | undefined, after: Fields): FieldsChange | undefined {
  const set = [...after].filter(([name, value]) => !isSame(before?.get(name), value));
  const gone = before ? [...before.keys()].filter((name) => !after.has(name)) : [];
  if (set.length === 0 && gone.length === 0) return undefined;
  return { ...(set.length > 0 && { s: Object.fromEntries(set) }), ...(gone.length > 0 && { d: gone }) };
}

export function changedFields(before: Fields | undefined, change: FieldsChange | undefined): Fields {
  if (!change) return before ?? new Map();
  const fields = new Map(before);
  for (const name of change.d ?? []) fields.delete(name);
  for (const [name, value] of Object.entries(change.s ?? {})) fields.set(name, value);
  return fields;
}

function isSame(before: Json | undefined, after: Json): boolean {
  if (before === after) return true;
  if (typeof before !== "object" || typeof after !== "object") return false;
  return JSON.stringify(before) === JSON.stringify(after);
}
