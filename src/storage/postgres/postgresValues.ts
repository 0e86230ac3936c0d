const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** No text has this byte in its UTF-8: it stands before what is no agent, and behind every text. */
const noText = 0xff;

/** A text as the bytes of its UTF-8. */
export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text of which these are the bytes. */
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** What comes behind every text. */
export const behindAll: Uint8Array = Uint8Array.of(noText);

/** What the appends of another log are kept under until all are there: no agent has this id. */
export function stagedId(agentId: string): Uint8Array {
  return Uint8Array.of(noText, ...textBytes(agentId));
}

/** Bytes that are no view of a larger buffer. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
