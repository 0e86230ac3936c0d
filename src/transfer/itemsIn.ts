const quote = 34;
const backslash = 92;
/**
 * Contains 1 at the byte values of `,`, `[`, `{` and `:`. One of these characters precedes every value and key except
 * the first.
 */
const beforeItem = Uint8Array.from({ length: 256 }, (_, byte) => (",[{:".includes(String.fromCharCode(byte)) ? 1 : 0));

/** Counts the values and keys in JSON text without parsing it. An empty array or object counts as two. */
export function itemsIn(text: Uint8Array): number {
  let count = 1;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (byte === quote) at = endOfString(text, at);
    else count += beforeItem[byte] ?? 0;
  }
  return count;
}

function endOfString(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at;
}
