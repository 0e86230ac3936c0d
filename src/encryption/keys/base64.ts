import { fromBase64Url, toBase64Url } from "../../internal/bytes.ts";

interface NodeBuffer {
  from(bytes: ArrayBufferLike, at: number, length: number): { toString(encoding: "base64url"): string };
  from(text: string, encoding: "base64url"): Uint8Array;
}

const { Buffer: nodeBuffer } = globalThis as { readonly Buffer?: NodeBuffer };

/** Encodes bytes as base64url. Uses the native encoder of Node if available. */
export const encodeBytes: (bytes: Uint8Array) => string = nodeBuffer
  ? ({ buffer, byteOffset, length }) => nodeBuffer.from(buffer, byteOffset, length).toString("base64url")
  : toBase64Url;

/** Decodes base64url. Returns `undefined` for any other text. */
export const decodeBytes: (text: string) => Uint8Array | undefined = nodeBuffer
  ? (text) => {
      const bytes = nodeBuffer.from(text, "base64url");
      return Math.ceil((bytes.length * 4) / 3) === text.length ? bytes : undefined;
    }
  : fromBase64Url;
