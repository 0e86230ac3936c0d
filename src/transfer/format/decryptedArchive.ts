import { decryptWith, importKey } from "../../encryption/keys/aesGcm.ts";
import { unwrapKey } from "../../encryption/keys/wrapKey.ts";
import { AuthenticationFailedError, KeyMissingError } from "../../errors/encryptionErrors.ts";
import { InvalidArchiveError } from "../../errors/storedDataErrors.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { quoted } from "../../errors/quoted.ts";
import type { KeySource } from "../../storage/KeySource.ts";
import { ByteReader } from "./ByteReader.ts";
import {
  addedBytes,
  chunkBytes,
  chunkContextOf,
  type EncryptedHeader,
  encryptedHeaderSchema,
  encryptedMark,
  keyContextOf,
} from "./encryptedFormat.ts";

/** The keys for reading an archive. */
export interface ArchiveKeys {
  readonly source: KeySource;
  /** Whether a plain archive is refused, because anyone could have replaced an encrypted one by it. */
  readonly isRequired: boolean;
}

/**
 * Returns the plain bytes of an archive, which are decrypted while they are read. A plain archive is returned
 * unchanged.
 *
 * @throws KeyMissingError, AuthenticationFailedError
 * @throws InvalidArchiveError for a plain archive if the keys are required.
 */
export async function decryptedArchive(bytes: ByteReader, keys: ArchiveKeys | undefined): Promise<ByteReader> {
  if (!(await bytes.startsWith(encryptedMark))) {
    if (keys?.isRequired) throw new InvalidArchiveError("it is not encrypted, but `keys` require an encrypted archive");
    return bytes;
  }
  const header = encryptedHeaderSchema.safeParse(parsedJson(await bytes.text())).data as EncryptedHeader | undefined;
  if (!header) throw new InvalidArchiveError("its first line is not the header of an encrypted archive");
  const { agentId, keyId } = header;
  if (!keys) throw new KeyMissingError(agentId, keyId);
  const dataKey = await unwrapKey(keys.source, header, { agentId, context: keyContextOf(header) });
  if (dataKey) return new ByteReader(chunksOf(bytes, header, await importKey(dataKey)));
  const found = `the key ${quoted(keyId)} did not encrypt the data key of its archive`;
  throw new AuthenticationFailedError(agentId, undefined, found);
}

/** A chunk is used only after the whole chunk was authenticated. */
async function* chunksOf(bytes: ByteReader, header: EncryptedHeader, key: CryptoKey): AsyncGenerator<Uint8Array> {
  let isLast = false;
  for (let index = 0; !isLast; index++) {
    const chunk = await bytes.upTo(chunkBytes + addedBytes);
    isLast = (await bytes.peek(1)).length === 0;
    const plain = await decryptWith(key, chunk, chunkContextOf(header, index, isLast));
    if (!plain) throw changed(header, index);
    yield plain;
  }
}

function changed({ agentId }: EncryptedHeader, index: number): AuthenticationFailedError {
  const found = `its archive was changed, cut off or reordered at chunk ${index + 1}`;
  return new AuthenticationFailedError(agentId, undefined, found);
}
