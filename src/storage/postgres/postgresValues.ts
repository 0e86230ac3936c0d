const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A byte that never occurs in UTF-8. It is the prefix of keys that are not agents, and sorts after every text. */
const noText = 0xff;

export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

export const behindAll: Uint8Array = Uint8Array.of(noText);

export function stagedId(agentId: string): Uint8Array {
  return Uint8Array.of(noText, ...textBytes(agentId));
}

/** Returns a copy backed by a buffer of exactly that size. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
