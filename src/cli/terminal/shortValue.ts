import { jsonText } from "./jsonText.ts";

const longest = 2_000;

/** Formats a value on one line: text unchanged, other values as JSON. A longer value is cut, with its length. */
export function shortValue(value: unknown, most: number = longest): string {
  const text = typeof value === "string" ? value : value === undefined ? "–" : textOf(value);
  if (text.length <= most) return text;
  return `${text.slice(0, most)}… (${text.length.toLocaleString("en")} characters)`;
}

function textOf(value: unknown): string {
  try {
    return jsonText(value);
  } catch (error) {
    return `(cannot be shown: ${(error as Error).message})`;
  }
}
