/** Returns a noun with "a" or "an", chosen by its first letter. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
}
