import { includesText } from "../internal/bytes.ts";

/** The search text starts with a rare character, because that makes the search fast. */
const slashes = new TextEncoder().encode("//");
const references = /blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?/g;
/** References are ASCII, so decoding as Latin-1 is cheap and safe. */
const latin1 = new TextDecoder("latin1");

/** Returns all strings in a line that look like blob references. User text can look the same. */
export function blobsNamedIn(line: Uint8Array): ReadonlySet<string> {
  return new Set(includesText(line, slashes) ? latin1.decode(line).match(references) : []);
}
