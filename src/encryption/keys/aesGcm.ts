import { utf8 } from "../../internal/bytes.ts";

const nonceBytes = 12;
const tagBytes = 16;
/** Large data is encrypted in parts that fit into the cache of a processor. */
const partBytes = 256 * 1024;

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

const { process } = globalThis as {
  readonly process?: { readonly getBuiltinModule?: (name: "node:crypto") => NodeCrypto | undefined };
};
const nodeCrypto = process?.getBuiltinModule?.("node:crypto");
const [algorithm, options] = ["aes-256-gcm", { authTagLength: tagBytes }] as const;

/** Encrypts with AES-256-GCM under a random nonce, which precedes the result. */
export function encryptWith(key: CryptoKey, bytes: Uint8Array, context: string): Promise<Uint8Array> {
  return encryptInPlace(key, bytesToEncrypt(bytes), context);
}

/**
 * Returns a copy of bytes with room for their encryption, which then needs no other copy.
 *
 * @param prefix - bytes before the result that stay plain. Defaults to none.
 */
export function bytesToEncrypt(bytes: Uint8Array, prefix: Uint8Array = new Uint8Array()): BytesToEncrypt {
  const start = prefix.length + nonceBytes;
  const whole = new Uint8Array(start + bytes.length + tagBytes);
  whole.set(prefix);
  whole.set(bytes, start);
  return { whole, plain: whole.subarray(start, -tagBytes) };
}

export interface BytesToEncrypt {
  readonly whole: Uint8Array;
  /** The bytes to encrypt within `whole`. */
  readonly plain: Uint8Array;
}

/** Encrypts bytes in place. Returns the prefix, the nonce and the result. */
export async function encryptInPlace(
  key: CryptoKey,
  { whole, plain }: BytesToEncrypt,
  context: string,
): Promise<Uint8Array> {
  const iv = globalThis.crypto.getRandomValues(new Uint8Array(nonceBytes));
  const start = plain.byteOffset - whole.byteOffset;
  whole.set(iv, start - nonceBytes);
  if (!nodeCrypto) {
    whole.set(
      new Uint8Array(await globalThis.crypto.subtle.encrypt(algorithmWith(iv, context), key, own(plain))),
      start,
    );
    return whole;
  }
  const cipher = nodeCrypto.createCipheriv(algorithm, nodeCrypto.KeyObject.from(key), iv, options);
  cipher.setAAD(utf8(context));
  updateInParts(cipher, plain, plain);
  cipher.final();
  whole.set(cipher.getAuthTag(), whole.length - tagBytes);
  return whole;
}

/** Writes the results of a cipher, which have the size of the given bytes. */
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
  return { name: "AES-GCM", iv: own(iv), additionalData: own(utf8(context)) };
}

/** The types of WebCrypto accept no bytes that may be shared. This library has no shared bytes. */
export function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
