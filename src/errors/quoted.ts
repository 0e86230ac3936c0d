/** A message quotes no more characters of a text. */
const longestQuote = 200;

/** A text in double quotes: how a message names something. A longer one is cut, and the message says how long it is. */
export function quoted(text: string): string {
  if (text.length <= longestQuote) return JSON.stringify(text);
  return `${JSON.stringify(`${text.slice(0, longestQuote)}…`)} (${text.length} characters)`;
}
