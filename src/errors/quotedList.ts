/** The texts in double quotes, separated by commas: how a message names several things. */
export function quotedList(texts: readonly string[]): string {
  return texts.map((text) => JSON.stringify(text)).join(", ");
}
