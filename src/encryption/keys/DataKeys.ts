import { deleteOldest } from "../../internal/deleteOldest.ts";
import { AuthenticationFailedError, KeyMissingError } from "../../errors/encryptionErrors.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import type { KeySource } from "../../storage/KeySource.ts";
import type { KeyLog, StoredKey } from "./KeyLog.ts";
import { keyBytes, unwrapKey, wrapKey } from "./wrapKey.ts";
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
      info: utf8(`agent-persistence ${use}`),
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

  /** Encrypts bytes, which are all read before the first await. The result starts with the plain `prefix`. */
  encrypt(bytes: Uint8Array, context: string, prefix?: Uint8Array): Promise<Uint8Array> {
    return encryptWith(this.#encryption, bytes, context, prefix);
  }

  decrypt(bytes: Uint8Array, context: string): Promise<Uint8Array | undefined> {
    return decryptWith(this.#encryption, bytes, context);
  }

  /** Returns the name of a blob: 64 hex characters. Computing or verifying a name requires the key. */
  async nameOf(text: string): Promise<string> {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const signature = await globalThis.crypto.subtle.sign("HMAC", this.#naming, utf8(text));
    const name = Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (this.#names.size >= mostNames) this.#names.clear();
    this.#names.set(text, name);
    return name;
  }
}

interface KnownKey {
  readonly stored: StoredKey;
  readonly key: DataKey;
}

const mostKeys = 5_000;

/** The data keys of the agents of a storage. Each agent has one data key, which the key source encrypts. */
export class DataKeys {
  readonly #log: KeyLog;
  readonly source: KeySource;
  readonly #known = new Map<string, Promise<KnownKey | undefined>>();
  readonly #read = new WeakMap<Promise<KnownKey | undefined>, DataKey>();

  constructor(log: KeyLog, source: KeySource) {
    this.#log = log;
    this.source = source;
  }

  /** Returns the key of an agent if this process has read it. */
  known(agentId: string): DataKey | undefined {
    const known = this.#known.get(agentId);
    return known && this.#read.get(known);
  }

  /** Returns the key of an agent. `undefined` if the agent has no key. @throws KeyMissingError */
  async find(agentId: string): Promise<DataKey | undefined> {
    return (await this.#find(agentId))?.key;
  }

  /** Returns the key with this id if it belongs to the agent. @throws KeyMissingError if the agent has no key */
  async reading(agentId: string, id: string): Promise<DataKey | undefined> {
    const known = await this.find(agentId);
    if (known?.id === id) return known;
    this.#known.delete(agentId);
    const found = await this.find(agentId);
    if (!found) throw new KeyMissingError(agentId, undefined);
    return found.id === id ? found : undefined;
  }

  /**
   * Returns the key for new data of an agent. If it `hasData`, a key existed, and no new key is created. `original` is
   * the agent that a new agent is a fork of.
   *
   * @throws KeyMissingError
   */
  async writing(agentId: string, hasData: () => Promise<boolean>, original?: string): Promise<DataKey> {
    const known = await this.find(agentId);
    if (known) return known;
    if (await hasData()) throw new KeyMissingError(agentId, undefined);
    const forkOf = original === undefined ? undefined : [original, ...(await this.originalsOf(original))];
    await this.#log.create(agentId, () => this.#create(agentId, forkOf));
    this.#known.delete(agentId);
    const created = await this.find(agentId);
    if (created) return created;
    throw new KeyMissingError(agentId, undefined);
  }

  /**
   * Reads the key of an agent again, because another process may have destroyed or replaced it, and encrypts it with
   * the current key of the source. Keeps the earlier form if the new form cannot be decrypted.
   *
   * @returns whether it was encrypted again.
   * @throws KeyMissingError
   */
  async refresh(agentId: string): Promise<boolean> {
    this.#known.delete(agentId);
    const found = await this.#find(agentId);
    if (!found || found.stored.keyId === this.source.current) return false;
    await this.#log.replace(found.stored, () => this.#wrappedAgain(found.stored));
    this.#known.delete(agentId);
    return true;
  }

  /** Removes earlier encrypted forms of a key that a crash left. */
  removeReplaced(agentId: string): Promise<void> {
    return this.#log.removeReplaced(agentId);
  }

  /** Returns the agents from which an agent was forked. Their redacted values were copied to this agent. */
  async originalsOf(agentId: string): Promise<readonly string[]> {
    return (await this.#find(agentId))?.stored.forkOf ?? [];
  }

  /** Returns the ids of the logs of all keys, even of damaged keys. */
  logIds(): AsyncIterable<string> {
    return this.#log.logIds();
  }

  /** Returns the id of the agent to which the key in a log belongs, or `undefined` if the key was destroyed. */
  agentIdIn(logId: string): Promise<string | undefined> {
    return this.#log.agentIdIn(logId);
  }

  /** Returns the id of the stored key of an agent, or `undefined` if it has none. */
  storedId(agentId: string): Promise<string | undefined> {
    this.#known.delete(agentId);
    return this.#log.keyIdOf(agentId);
  }

  /** @param id - the id of the key to destroy. Another key is kept. Defaults to any key. */
  async destroy(agentId: string, id?: string): Promise<void> {
    await this.#log.destroy(agentId, id);
    this.#known.delete(agentId);
  }

  #find(agentId: string): Promise<KnownKey | undefined> {
    const known = this.#known.get(agentId);
    if (known) return known;
    const loading = this.#load(agentId);
    this.#known.set(agentId, loading);
    // A missing key may be stored soon, and a failure may be temporary.
    const forget = () => {
      if (this.#known.get(agentId) === loading) this.#known.delete(agentId);
    };
    loading.then((found) => (found ? this.#read.set(loading, found.key) : forget()), forget);
    deleteOldest(this.#known, mostKeys);
    return loading;
  }

  async #load(agentId: string): Promise<KnownKey | undefined> {
    const stored = await this.#log.read(agentId);
    return stored && { stored, key: await DataKey.of(stored.id, await this.#unwrapped(stored)) };
  }

  async #create(agentId: string, forkOf?: readonly string[]): Promise<StoredKey> {
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(keyBytes));
    return this.#wrapped({ kind: "data_key", agentId, id: crypto.randomUUID(), forkOf }, bytes);
  }

  async #wrappedAgain(stored: StoredKey): Promise<StoredKey> {
    const bytes = await this.#unwrapped(stored);
    const wrapped = await this.#wrapped(stored, bytes.slice());
    const found = await this.#unwrapped(wrapped);
    if (found.every((byte, at) => byte === bytes[at])) return wrapped;
    throw notEncryptedBy(wrapped);
  }

  async #wrapped(
    { kind, agentId, id, forkOf }: Pick<StoredKey, "kind" | "agentId" | "id" | "forkOf">,
    bytes: Uint8Array,
  ): Promise<StoredKey> {
    const wrapped = await wrapKey(this.source, bytes, { agentId, context: contextOf(agentId, id, forkOf) });
    return { kind, agentId, id, ...wrapped, ...(forkOf && { forkOf }) };
  }

  async #unwrapped(stored: StoredKey): Promise<Uint8Array> {
    const { agentId, id, keyId, wrapped, forkOf } = stored;
    const context = contextOf(agentId, id, forkOf);
    const bytes = await unwrapKey(this.source, { keyId, wrapped }, { agentId, context });
    if (bytes) return bytes;
    throw notEncryptedBy(stored);
  }
}

function notEncryptedBy({ agentId, keyId }: StoredKey): AuthenticationFailedError {
  const found = `the key ${quoted(keyId)} of the key source did not encrypt its data key`;
  return new AuthenticationFailedError(agentId, undefined, found);
}

function contextOf(agentId: string, id: string, forkOf?: readonly string[]): string {
  return JSON.stringify(["agent-persistence data key", agentId, id, ...(forkOf ? [forkOf] : [])]);
}
