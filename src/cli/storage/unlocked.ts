import { encrypted, type EncryptionOptions, type KeySource } from "../../encryption.ts";
import { AgentPersistenceError, SealBrokenError } from "../../errors.ts";
import { sealed, type SealOptions, verifySeals } from "../../seals.ts";
import { offersLog } from "../../storage/PersistenceStorageProvider.ts";
import type { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import type { OpenedStorage } from "./openStorage.ts";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Problem } from "../../inspect.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";

/** The keys of an encrypted storage and the options of a sealed storage that the command received. */
export interface Secrets {
  /** The keys, or all options of `encrypted()`. */
  readonly keys?: unknown;
  /** The options of `sealed()`. */
  readonly seals?: unknown;
}

/** How many readable logs show whether a storage is sealed. */
const shownLogs = 5;

/**
 * Decrypts an opened storage, and seals the appends of a command. With purpose `keys`, only data keys change.
 *
 * @throws CommandFailure for a write to a sealed storage without the options of the seals
 */
export async function unlocked(
  opened: OpenedStorage,
  { keys, seals }: Secrets,
  purpose: "read" | "write" | "keys",
): Promise<OpenedStorage> {
  const isSealedBelow = (seals !== undefined || purpose !== "read") && (await isSealed(opened.storage));
  const below = isSealedBelow ? withSeals(opened, seals) : opened;
  const readable = keys === undefined ? below : withKeys(below, keys, opened.storage);
  const isSealedAbove = !isSealedBelow && purpose !== "keys";
  if (seals !== undefined) return isSealedAbove ? withSeals(readable, seals) : readable;
  if (purpose !== "read" && (isSealedBelow || (isSealedAbove && (await isSealed(readable.storage)))))
    throw new CommandFailure("usage", sealedMessage);
  return readable;
}

const sealedMessage =
  "The storage is sealed. verify would report a change without a seal. " +
  "To seal the change, name the options of sealed(): --seals ./seals.js#<export>";

/** Returns whether a storage contains seals. The first append of a sealed log already has a seal. */
export async function isSealed({ log }: LogPersistenceStorageProvider): Promise<boolean> {
  let unsealed = 0;
  try {
    for await (const { agentId } of log.list({ readOnly: true })) {
      const seal = await hasSeal(log, agentId);
      if (seal) return true;
      if (seal === false && ++unsealed === shownLogs) return false;
    }
  } catch (error) {
    unlessReported(error);
  }
  return false;
}

/** Returns `undefined` for a log that is damaged before its first seal. */
async function hasSeal(log: RecordLog, agentId: string): Promise<boolean | undefined> {
  try {
    for await (const { records } of log.read(agentId))
      if ((records.at(-1) as { readonly seal?: unknown } | undefined)?.seal !== undefined) return true;
    return false;
  } catch (error) {
    return unlessReported(error);
  }
}

/** Ignores an error of the library, because the command itself reports a missing or damaged storage. */
function unlessReported(error: unknown): undefined {
  if (!AgentPersistenceError.isInstance(error)) throw error;
}

function withSeals(opened: OpenedStorage, seals: unknown): OpenedStorage {
  return seals === undefined ? opened : { ...opened, storage: sealed(opened.storage, seals as SealOptions) };
}

function withKeys(opened: OpenedStorage, given: unknown, stored: LogPersistenceStorageProvider): OpenedStorage {
  const options = isOptions(given) ? given : { keys: given as KeySource };
  const { keyStorage } = options;
  return {
    ...opened,
    storage: encrypted(opened.storage, options),
    stored,
    close: async () => {
      await opened.close();
      if (keyStorage && offersLog(keyStorage)) await keyStorage.log.close();
    },
  };
}

function isOptions(given: unknown): given is EncryptionOptions {
  return typeof given === "object" && given !== null && "keys" in given;
}

const pemBlock = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g;

/**
 * Returns a function that names the changes of a sealed log. `file` is a PEM file with public keys.
 *
 * @throws CommandFailure
 */
export async function sealsOf(
  { storage, stored = storage }: OpenedStorage,
  file: string,
  { cwd }: CommandIo,
): Promise<(agentId: string) => Promise<readonly Problem[]>> {
  const keys = await readKeys(resolve(cwd, file));
  const isSigned = (bytes: Uint8Array, signature: Uint8Array) =>
    keys.some((key) => verify(digestOf(key), bytes, key, signature));
  // Encryption may be over or under the seals.
  const checked = (await isSealed(stored)) ? stored : storage;
  return async (agentId) => {
    const problems: Problem[] = [];
    for await (const { changes } of verifySeals(checked, { verify: isSigned, agentIds: [agentId] }))
      problems.push(...changes.map((change) => new SealBrokenError(agentId, change)));
    return problems;
  };
}

async function readKeys(path: string): Promise<readonly KeyObject[]> {
  try {
    const keys = (await readFile(path, "utf8")).match(pemBlock)?.map((block) => createPublicKey(block)) ?? [];
    if (keys.length > 0) return keys;
  } catch (error) {
    throw new CommandFailure("usage", `${path} has no key that can be read (${(error as Error).message}).`);
  }
  throw new CommandFailure("usage", `${path} has no public key in PEM format, such as -----BEGIN PUBLIC KEY-----.`);
}

/** Returns the digest of a signature, or null for Ed25519 and Ed448, which include a digest. */
function digestOf({ asymmetricKeyType }: KeyObject): string | null {
  return asymmetricKeyType?.startsWith("ed") ? null : "sha256";
}
