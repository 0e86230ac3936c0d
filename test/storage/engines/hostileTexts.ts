import { createHash } from "node:crypto";

/** Ids and orders that a driver, an index or an SQL statement may take for others, in the order of their bytes. */
export function hostileTexts(): readonly string[] {
  // As long as an id can be, and nothing compresses it.
  const longest = createHash("shake256", { outputLength: 768 }).update("any").digest("base64");
  const alike = [0, 1, 2].map((n) => `a${longest.slice(2)}${n}`);
  const short = ["\0", "a", "a\0", "a\0b", 'a"', "a'", "a'; DROP SCHEMA public", "a\\", "é", "\uFFFF", "😀"];
  return [...short, ...alike].toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}
