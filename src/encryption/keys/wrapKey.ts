import { fromBase64Url, toBase64Url } from "../../internal/bytes.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { KeyMissingError } from "../../errors/encryptionErrors.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import type { EncryptionKey, KeySource } from "../../storage/KeySource.ts";
import { decryptWith, encryptWith, importKey } from "./aesGcm.ts";

export const keyBytes = 32;

export interface WrappedKey {
  readonly keyId: string;
  /** The encrypted data key, in base64url. */
  readonly wrapped: string;
}

export interface WrappedFor {
  readonly agentId: string;
  /** Binds the data key to its place. */
  readonly context: string;
}

/** Encrypts a data key with the current key of a source. @throws KeyMissingError, StorageError */
export async function wrapKey(
  source: KeySource,
  bytes: Uint8Array,
  { agentId, context }: WrappedFor,
): Promise<WrappedKey> {
  const { current: keyId } = source;
  const key = await keyOf(source, agentId, keyId);
  const wrapped =
    key instanceof Uint8Array
      ? await encryptWith(await importKey(key), bytes, context)
      : await asked("wrap", keyId, () => key.wrap(bytes, context));
  return { keyId, wrapped: toBase64Url(wrapped) };
}

/**
 * Decrypts a data key. Returns `undefined` if the key of the source did not encrypt the data key for this `context`.
 *
 * @throws KeyMissingError, StorageError
 */
export async function unwrapKey(
  source: KeySource,
  { keyId, wrapped }: WrappedKey,
  { agentId, context }: WrappedFor,
): Promise<Uint8Array | undefined> {
  const key = await keyOf(source, agentId, keyId);
  const stored = fromBase64Url(wrapped) ?? new Uint8Array();
  const bytes =
    key instanceof Uint8Array
      ? await decryptWith(await importKey(key), stored, context)
      : await asked("unwrap", keyId, () => key.unwrap(stored, context));
  return bytes?.length === keyBytes ? bytes : undefined;
}

async function keyOf(source: KeySource, agentId: string, keyId: string): Promise<EncryptionKey> {
  // A stored id is hostile: with `get: (id) => table[id]`, the id "constructor" would find a method of every object.
  const key = keyId in Object.prototype ? undefined : await source.get(keyId);
  if (!key) throw new KeyMissingError(agentId, keyId);
  if (key instanceof Uint8Array ? key.length === keyBytes : typeof key.unwrap === "function") return key;
  const expected = `expected ${keyBytes} bytes, or an object with wrap and unwrap`;
  throw new InvalidInputError("keys.get()", [{ path: keyId, expected }]);
}

async function asked<Result>(operation: string, keyId: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (cause) {
    throw new StorageError("unavailable", `${operation} of a data key`, `the key ${quoted(keyId)}`, { cause });
  }
}
