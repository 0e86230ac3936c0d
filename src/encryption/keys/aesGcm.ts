import { concatenated, utf8 } from "../../internal/bytes.ts";

const nonceBytes = 12;
const tagBytes = 16;
/** Larger data is encrypted by WebCrypto in another thread, which costs more for small data. */
const mostAtOnce = 256 * 1024;

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
export async function encryptWith(
  key: CryptoKey,
  bytes: Uint8Array,
  context: string,
  prefix: Uint8Array = new Uint8Array(),
): Promise<Uint8Array> {
  const iv = globalThis.crypto.getRandomValues(new Uint8Array(nonceBytes));
  if (!nodeCrypto || bytes.length > mostAtOnce) {
    const encrypted = await globalThis.crypto.subtle.encrypt(algorithmWith(iv, context), key, own(bytes));
    return concatenated([prefix, iv, new Uint8Array(encrypted)]);
  }
  const cipher = nodeCrypto.createCipheriv(algorithm, nodeCrypto.KeyObject.from(key), iv, options);
  cipher.setAAD(utf8(context));
  return concatenated([prefix, iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Returns the bytes, or `undefined` if another key, context or content was encrypted. */
export async function decryptWith(key: CryptoKey, bytes: Uint8Array, context: string): Promise<Uint8Array | undefined> {
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const [iv, encrypted] = [bytes.slice(0, nonceBytes), bytes.subarray(nonceBytes)];
  try {
    if (!nodeCrypto || bytes.length > mostAtOnce)
      return new Uint8Array(await globalThis.crypto.subtle.decrypt(algorithmWith(iv, context), key, own(encrypted)));
    const cipher = nodeCrypto.createDecipheriv(algorithm, nodeCrypto.KeyObject.from(key), iv, options);
    cipher.setAAD(utf8(context));
    cipher.setAuthTag(encrypted.subarray(-tagBytes));
    return concatenated([cipher.update(encrypted.subarray(0, -tagBytes)), cipher.final()]);
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
