import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { SealBrokenError } from "../../errors.ts";
import type { Problem } from "../../inspect.ts";
import { verifySeals } from "../../seals.ts";
import type { OpenedStorage } from "./OpenedStorage.ts";
import { isSealed } from "./unlocked.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";

const pemBlock = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g;

/**
 * Returns a function that names the changes of a sealed log.
 *
 * @param file - a PEM file with one or more public keys.
 * @throws CommandFailure if the file has no key.
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

/** Ed25519 and Ed448 hash by themselves. */
function digestOf({ asymmetricKeyType }: KeyObject): string | null {
  return asymmetricKeyType?.startsWith("ed") ? null : "sha256";
}
