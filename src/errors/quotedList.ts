import { quoted } from "./quoted.ts";

/** A message names no more things of a list. */
const mostNamed = 20;

/** The texts in double quotes, separated by commas: how a message names several things. Of many, the first ones. */
export function quotedList(texts: readonly string[]): string {
  const named = texts.slice(0, mostNamed).map(quoted).join(", ");
  return texts.length > mostNamed ? `${named} and ${texts.length - mostNamed} more` : named;
}
