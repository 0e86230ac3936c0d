import { utf8 } from "../../internal/bytes.ts";
import { decryptWith, encryptWith, own } from "./aesGcm.ts";

const mostNames = 20_000;

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
      subtle.deriveKey(derivation("encryption"), source, { name: "AES-GCM", length: 256 }, true, [
        "encrypt",
        "decrypt",
      ]),
      subtle.deriveKey(derivation("names"), source, { name: "HMAC", hash: "SHA-256", length: 256 }, false, ["sign"]),
    ]);
    return new DataKey(id, encryption, naming);
  }

  /**
   * Encrypts bytes, which it reads before it returns.
   *
   * @param prefix - plain bytes to put before the result. Defaults to none.
   */
  encrypt(bytes: Uint8Array, context: string, prefix?: Uint8Array): Promise<Uint8Array> {
    return encryptWith(this.#encryption, bytes, context, prefix);
  }

  decrypt(bytes: Uint8Array, context: string): Promise<Uint8Array | undefined> {
    return decryptWith(this.#encryption, bytes, context);
  }

  /** Returns the name of a blob: 64 hex characters. To compute or verify a name, the key is needed. */
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
