const references = /blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?/g;
const latin1 = new TextDecoder("latin1");

/** What a line has that looks like a reference to a blob. Text of the agent may look so, too. */
export function blobsNamedIn(line: Uint8Array): ReadonlySet<string> {
  return new Set(latin1.decode(line).match(references));
}
