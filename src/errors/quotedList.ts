import { quoted } from "./quoted.ts";

/** The maximum number of items that a message lists. */
const mostNamed = 20;

/** Returns the texts in double quotes, separated by commas. Truncates a longer list. */
export function quotedList(texts: readonly string[]): string {
  const named = texts.slice(0, mostNamed).map(quoted).join(", ");
  return texts.length > mostNamed ? `${named} and ${texts.length - mostNamed} more` : named;
}
