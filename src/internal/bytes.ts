interface NodeBuffer {
  readonly prototype: { readonly indexOf: (this: Uint8Array, text: Uint8Array) => number };
  from(bytes: ArrayBufferLike, at: number, length: number): { toString(encoding: "base64url"): string };
  from(text: string, encoding: "base64url"): Uint8Array;
}

/** The `Buffer` of Node. `undefined` on other platforms. */
const { Buffer: nodeBuffer } = globalThis as { readonly Buffer?: NodeBuffer };

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Encodes bytes as base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  if (nodeBuffer) return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64url");
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  if (nodeBuffer) return new Uint8Array(nodeBuffer.from(text, "base64url"));
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Decodes UTF-8. Keeps a byte order mark as part of the text. */
export function fromUtf8(bytes: Uint8Array | ArrayBuffer): string {
  return decoder.decode(bytes);
}

/** Returns the text of UTF-8 bytes, or `undefined` for other bytes. Keeps a byte order mark as part of the text. */
export function textOfUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns whether bytes contain a text, without decoding the bytes. */
export const includesText: (bytes: Uint8Array, text: Uint8Array) => boolean = nodeBuffer
  ? (bytes, text) => nodeBuffer.prototype.indexOf.call(bytes, text) >= 0
  : includesTextAnywhere;

/** Compares the text at each occurrence of its first byte. Fast only if this byte is rare in `bytes`. */
function includesTextAnywhere(bytes: Uint8Array, text: Uint8Array): boolean {
  const rare = text[0] ?? 0;
  for (let start = bytes.indexOf(rare); start >= 0; start = bytes.indexOf(rare, start + 1)) {
    let same = 1;
    while (same < text.length && bytes[start + same] === text[same]) same++;
    if (same === text.length) return true;
  }
  return false;
}

/** Combines small parts into parts of at least `atLeast` bytes. Each part consists of pieces, which are copied. */
export async function* inLargeParts(
  parts: AsyncIterable<readonly Uint8Array[]>,
  atLeast: number,
): AsyncGenerator<Uint8Array> {
  const size = 1.25 * atLeast;
  let joined: Uint8Array = new Uint8Array(size);
  let used = 0;
  for await (const pieces of parts) {
    const needed = pieces.reduce((sum, { length }) => sum + length, used);
    if (needed > joined.length) joined = concatenated([joined.subarray(0, used), new Uint8Array(needed - used)]);
    for (const piece of pieces) {
      joined.set(piece, used);
      used += piece.length;
    }
    if (used < atLeast) continue;
    yield joined.subarray(0, used);
    [joined, used] = [new Uint8Array(size), 0];
  }
  if (used > 0) yield joined.subarray(0, used);
}
