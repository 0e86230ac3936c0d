import type { JsonValue } from "./AiSdkPrompt.ts";

/**
 * Converts a value to JSON for a model. A map with string keys becomes an object, any other map a list of pairs, a set
 * a list, and bytes base64. Bigints become their digits, numbers such as `NaN` their names, and `undefined` becomes
 * `null`.
 */
export function jsonValueOf(value: unknown): JsonValue {
  const text: string | undefined = JSON.stringify(value, function (this: Record<string, unknown>, key: string, after) {
    // `after` is the result of toJSON, so bytes are detected from `before`.
    const before = this[key];
    return before instanceof Uint8Array ? base64Of(before) : plainOf(after);
  });
  return text === undefined ? null : (JSON.parse(text) as JsonValue);
}

function plainOf(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Set) return [...value];
  if (!(value instanceof Map)) return value;
  const entries = [...value];
  return entries.every(([key]) => typeof key === "string") ? Object.fromEntries(entries) : entries;
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * Parses the tool input that a model wrote. Invalid JSON stays text, so that the tool's schema rejects it and the model
 * sees the error. Empty text, which some models write for a tool without parameters, becomes an empty object.
 */
export function toolInputOf(written: string): unknown {
  if (written.trim() === "") return {};
  try {
    return JSON.parse(written) as unknown;
  } catch {
    return written;
  }
}

/**
 * Converts a tool input for a later request. Providers accept only objects and would reject the whole request for a
 * malformed input. The result of that call already reports the mistake.
 */
export function shownInputOf(input: unknown): JsonValue {
  const value = jsonValueOf(input);
  return typeof value === "object" && value !== null ? value : {};
}
