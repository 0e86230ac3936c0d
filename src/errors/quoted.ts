/** The maximum number of characters that a message quotes from a text. */
const longestQuote = 200;

/** Returns a text in double quotes for use in a message. A longer text is truncated and followed by its length. */
export function quoted(text: string): string {
  if (text.length <= longestQuote) return JSON.stringify(text);
  return `${JSON.stringify(`${text.slice(0, longestQuote)}…`)} (${text.length} characters)`;
}
