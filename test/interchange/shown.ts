import { createHash } from "node:crypto";

const longText = 80;

/** A value as JSON in which nothing is lost: values that JSON has no form for are named, long texts are hashed. */
export function shown(value: unknown): unknown {
  if (typeof value === "string") return value.length > longText ? hashed("text", value) : value;
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
    return { $number: Object.is(value, -0) ? "-0" : String(value) };
  if (typeof value === "bigint") return { $bigint: String(value) };
  if (value === undefined) return { $undefined: true };
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(shown);
  if (value instanceof Date) return { $date: value.toISOString() };
  if (value instanceof URL) return { $url: value.href };
  if (value instanceof Uint8Array) return hashed("bytes", value);
  if (value instanceof Map) return { $map: [...value].map(shown) };
  if (value instanceof Set) return { $set: [...value].map(shown) };
  const fields = Object.fromEntries(Object.keys(value).map((key) => [key, shown(Reflect.get(value, key))]));
  const { name } = (value as object).constructor;
  return name === "Object" ? fields : { [`$${name}`]: fields };
}

function hashed(what: string, content: string | Uint8Array): unknown {
  return { [`$${what}`]: [content.length, createHash("sha256").update(content).digest("hex").slice(0, 16)] };
}

/** A short text that differs where values differ. */
export function digest(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(shown(value)))
    .digest("hex")
    .slice(0, 16);
}
