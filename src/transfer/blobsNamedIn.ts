import { includesText } from "../internal/bytes.ts";

/** A search is as fast as its first character is rare. */
const slashes = new TextEncoder().encode("//");
const references = /blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?/g;
/** References are ASCII: no text has to be put together for them. */
const latin1 = new TextDecoder("latin1");

/** What a line has that looks like a reference to a blob. Text of the agent may look so, too. */
export function blobsNamedIn(line: Uint8Array): ReadonlySet<string> {
  return new Set(includesText(line, slashes) ? latin1.decode(line).match(references) : []);
}
