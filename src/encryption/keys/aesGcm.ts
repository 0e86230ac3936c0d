import { utf8 } from "../../internal/bytes.ts";

const nonceBytes = 12;
const tagBytes = 16;
/** Large data is encrypted in parts that fit into the cache of a processor. */
const partBytes = 128 * 1024;

interface NodeCipher {
  setAAD(context: Uint8Array): unknown;
  update(bytes: Uint8Array): Uint8Array;
  final(): Uint8Array;
  getAuthTag(): Uint8Array;
  setAuthTag(tag: Uint8Array): unknown;
}

interface NodeCrypto {
  readonly KeyObject: { from(key: CryptoKey): object };
  createCipheriv(name: string, key: object, iv: Uint8Array, options: object): NodeCipher;
  createDecipheriv(name: string, key: object, iv: Uint8Array, options: object): NodeCipher;
}

const { process, Buffer: nodeBuffer } = globalThis as {
  readonly Buffer?: { readonly allocUnsafeSlow: (length: number) => Uint8Array };
  readonly process?: { readonly getBuiltinModule?: (name: "node:crypto") => NodeCrypto | undefined };
};
const nodeCrypto = process?.getBuiltinModule?.("node:crypto");
const [algorithm, options] = ["aes-256-gcm", { authTagLength: tagBytes }] as const;

/**
 * Encrypts with AES-256-GCM and a random nonce, which follows the plain `prefix`. The bytes are read before the
 * function returns.
 */
export async function encryptWith(
  key: CryptoKey,
  bytes: Uint8Array,
  context: string,
  prefix: Uint8Array = new Uint8Array(),
): Promise<Uint8Array> {
  const start = prefix.length + nonceBytes;
  const whole = newBytes(start + bytes.length + tagBytes);
  const iv = globalThis.crypto.getRandomValues(new Uint8Array(nonceBytes));
  whole.set(prefix);
  whole.set(iv, prefix.length);
  if (!nodeCrypto) {
    const encrypted = await globalThis.crypto.subtle.encrypt(algorithmWith(iv, context), key, own(bytes));
    whole.set(new Uint8Array(encrypted), start);
    return whole;
  }
  const cipher = nodeCrypto.createCipheriv(algorithm, nodeCrypto.KeyObject.from(key), iv, options);
  cipher.setAAD(utf8(context));
  updateInParts(cipher, bytes, whole.subarray(start, -tagBytes));
  cipher.final();
  whole.set(cipher.getAuthTag(), whole.length - tagBytes);
  return whole;
}

/** Returns a buffer to overwrite. Filling large buffers with zeros takes a tenth of the time of encrypting them. */
function newBytes(length: number): Uint8Array {
  return nodeBuffer?.allocUnsafeSlow(length) ?? new Uint8Array(length);
}

/** Passes bytes through a cipher in parts. The result has the same size as the bytes. */
function updateInParts(cipher: NodeCipher, bytes: Uint8Array, into: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += partBytes) into.set(cipher.update(bytes.subarray(at, at + partBytes)), at);
}

/** Returns the bytes, or `undefined` if another key, context or content was encrypted. */
export async function decryptWith(key: CryptoKey, bytes: Uint8Array, context: string): Promise<Uint8Array | undefined> {
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const [iv, encrypted] = [bytes.slice(0, nonceBytes), bytes.subarray(nonceBytes)];
  try {
    if (!nodeCrypto)
      return new Uint8Array(await globalThis.crypto.subtle.decrypt(algorithmWith(iv, context), key, own(encrypted)));
    const cipher = nodeCrypto.createDecipheriv(algorithm, nodeCrypto.KeyObject.from(key), iv, options);
    cipher.setAAD(utf8(context));
    cipher.setAuthTag(encrypted.subarray(-tagBytes));
    const whole = new Uint8Array(encrypted.length - tagBytes);
    updateInParts(cipher, encrypted.subarray(0, -tagBytes), whole);
    cipher.final();
    return whole;
  } catch {
    return undefined;
  }
}

export function importKey(bytes: Uint8Array): Promise<CryptoKey> {
  return globalThis.crypto.subtle.importKey("raw", own(bytes), "AES-GCM", true, ["encrypt", "decrypt"]);
}

function algorithmWith(iv: Uint8Array, context: string) {
  return { name: "AES-GCM", iv: own(iv), additionalData: utf8(context) };
}

/** Narrows the type, because WebCrypto rejects a `SharedArrayBuffer`. This library never uses one. */
export function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
