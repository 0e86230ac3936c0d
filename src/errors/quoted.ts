/** The maximum number of characters that a message quotes from a text. */
const longestQuote = 200;

/** Returns a text in double quotes for use in a message. A longer text is truncated and followed by its length. */
export function quoted(text: string): string {
  if (text.length <= longestQuote) return JSON.stringify(text);
  return `${JSON.stringify(`${text.slice(0, longestQuote)}…`)} (${text.length} characters)`;
}

/** The maximum number of items that a message lists. */
const mostNamed = 20;

/** Returns the texts in double quotes, separated by commas. Truncates a longer list. */
export function quotedList(texts: readonly string[]): string {
  const named = texts.slice(0, mostNamed).map(quoted).join(", ");
  return texts.length > mostNamed ? `${named} and ${texts.length - mostNamed} more` : named;
}
