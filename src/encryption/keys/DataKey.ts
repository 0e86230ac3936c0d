import { concatenated, utf8 } from "../../internal/bytes.ts";

const nonceBytes = 12;
const mostNames = 20_000;

/** The number of bytes of a data key. */
export const keyBytes = 32;

/** Encrypts with AES-256-GCM under a random nonce, which precedes the result. */
export async function encryptWith(key: CryptoKey, bytes: Uint8Array, context: string): Promise<Uint8Array> {
  const iv = globalThis.crypto.getRandomValues(new Uint8Array(nonceBytes));
  const encrypted = await globalThis.crypto.subtle.encrypt(algorithmWith(iv, context), key, own(bytes));
  return concatenated([iv, new Uint8Array(encrypted)]);
}

/** Returns the bytes, or `undefined` if another key, context or content was encrypted. */
export async function decryptWith(key: CryptoKey, bytes: Uint8Array, context: string): Promise<Uint8Array | undefined> {
  const iv = bytes.slice(0, nonceBytes);
  const encrypted = own(bytes.subarray(nonceBytes));
  try {
    return new Uint8Array(await globalThis.crypto.subtle.decrypt(algorithmWith(iv, context), key, encrypted));
  } catch {
    return undefined;
  }
}

export function importKey(bytes: Uint8Array): Promise<CryptoKey> {
  return globalThis.crypto.subtle.importKey("raw", own(bytes), "AES-GCM", false, ["encrypt", "decrypt"]);
}

function algorithmWith(iv: Uint8Array, context: string) {
  return { name: "AES-GCM", iv: own(iv), additionalData: own(utf8(context)) };
}

/** The types of WebCrypto accept no bytes that may be shared. This library has no shared bytes. */
function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

/** The key of one agent. It encrypts the agent's data and computes the names of its blobs. */
export class DataKey {
  readonly id: string;
  readonly #encryption: CryptoKey;
  readonly #naming: CryptoKey;
  readonly #names = new Map<string, string>();

  private constructor(id: string, encryption: CryptoKey, naming: CryptoKey) {
    this.id = id;
    this.#encryption = encryption;
    this.#naming = naming;
  }

  static async of(id: string, bytes: Uint8Array): Promise<DataKey> {
    const { subtle } = globalThis.crypto;
    const source = await subtle.importKey("raw", own(bytes), "HKDF", false, ["deriveKey"]);
    const derivation = (use: string) => ({
      name: "HKDF",
      hash: "SHA-256",
      salt: new Uint8Array(),
      info: own(utf8(`agent-persistence ${use}`)),
    });
    const [encryption, naming] = await Promise.all([
      subtle.deriveKey(derivation("encryption"), source, { name: "AES-GCM", length: 256 }, false, [
        "encrypt",
        "decrypt",
      ]),
      subtle.deriveKey(derivation("names"), source, { name: "HMAC", hash: "SHA-256", length: 256 }, false, ["sign"]),
    ]);
    return new DataKey(id, encryption, naming);
  }

  encrypt(bytes: Uint8Array, context: string): Promise<Uint8Array> {
    return encryptWith(this.#encryption, bytes, context);
  }

  decrypt(bytes: Uint8Array, context: string): Promise<Uint8Array | undefined> {
    return decryptWith(this.#encryption, bytes, context);
  }

  /** Returns 64 hex characters that nobody can compute or verify without the key. */
  async nameOf(text: string): Promise<string> {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const signature = await globalThis.crypto.subtle.sign("HMAC", this.#naming, own(utf8(text)));
    const name = Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (this.#names.size >= mostNames) this.#names.clear();
    this.#names.set(text, name);
    return name;
  }
}
