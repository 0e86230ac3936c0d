import type { JsonValue } from "./AiSdkPrompt.ts";

/**
 * What a model is shown of a value: JSON unchanged, and rich values in their nearest JSON. A map with text keys becomes an
 * object, any other a list of pairs, a set a list, bytes base64, a bigint and a number that JSON lacks their digits or
 * name; `undefined` becomes `null`.
 */
export function jsonValueOf(value: unknown): JsonValue {
  const text: string | undefined = JSON.stringify(value, function (this: Record<string, unknown>, key: string, after) {
    // `after` is what toJSON made of the value; bytes are recognised before.
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
 * The input of a call that a model wrote. Text that is not JSON stays text, so that the tool's schema refuses it and the
 * model sees the error. An empty text, which some models write for a tool without parameters, is an empty object.
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
 * The input that a model is shown again. Providers take objects only and would refuse the whole request for a malformed
 * input; the result of that call says what was wrong with it.
 */
export function shownInputOf(input: unknown): JsonValue {
  const value = jsonValueOf(input);
  return typeof value === "object" && value !== null ? value : {};
}
