import { jsonText } from "./jsonText.ts";

/** A person sees no more of one value. */
const longest = 2_000;

/** A value as one line: text as it is, anything else as JSON. A long one is cut, and says how long it is. */
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
