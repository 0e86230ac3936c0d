const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text += alphabet.charAt(group >> 18) + alphabet.charAt((group >> 12) & 63);
    if (left > 1) text += alphabet.charAt((group >> 6) & 63);
    if (left > 2) text += alphabet.charAt(group & 63);
  }
  return text;
}

/** The inverse of {@link toBase64Url}; `undefined` when the text is not base64url. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let group = 0;
  let bits = 0;
  let at = 0;
  for (const char of text) {
    group = ((group << 6) | alphabet.indexOf(char)) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = (group >> bits) & 0xff;
  }
  return bytes;
}

/** The parts, one after another. */
export function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Whether a text is in bytes. It is found by its last character, which has to be a rare one: nothing is decoded. */
export function includesText(bytes: Uint8Array, text: Uint8Array): boolean {
  const last = text.length - 1;
  const rare = text[last] ?? 0;
  for (let end = bytes.indexOf(rare, last); end >= 0; end = bytes.indexOf(rare, end + 1)) {
    let same = 1;
    while (same <= last && bytes[end - same] === text[last - same]) same++;
    if (same > last) return true;
  }
  return false;
}

/** Small parts, joined to larger ones. */
export async function* inLargeParts(parts: AsyncIterable<Uint8Array>, atLeast: number): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    waiting.push(part);
    bytes += part.length;
    if (bytes < atLeast) continue;
    yield concatenated(waiting);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield concatenated(waiting);
}
