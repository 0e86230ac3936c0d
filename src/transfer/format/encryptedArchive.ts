import { encryptWith, importKey, decryptWith } from "../../encryption/keys/aesGcm.ts";
import { keyBytes, wrapKey, unwrapKey } from "../../encryption/keys/wrapKey.ts";
import { utf8 } from "../../internal/bytes.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type KeySource, keySourceSchema } from "../../storage/KeySource.ts";
import { z } from "zod";
import { type ArchiveHeader, headerShape } from "./archiveFormat.ts";
import { AuthenticationFailedError, KeyMissingError } from "../../errors/encryptionErrors.ts";
import { InvalidArchiveError } from "../../errors/storedDataErrors.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import { ByteReader } from "./ByteReader.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";

/** The facts of an archive that stay readable. A repeated backup compares them with the log. */
type ReadableFacts = Pick<ArchiveHeader, "agentId" | "position" | "generation" | "checksum" | "shape">;

/** The first line of an encrypted archive. All other bytes are encrypted chunks. */
interface EncryptedHeader extends ReadableFacts {
  /** The version of the encryption. */
  readonly encrypted: 1;
  readonly library: "agent-persistence";
  /** A random id that distinguishes the archive from other archives of the same agent. */
  readonly id: string;
  readonly keyId: string;
  /** The encrypted data key, in base64url. */
  readonly wrapped: string;
}

const encryptedHeaderSchema = z.strictObject({
  encrypted: z.literal(1),
  library: z.literal("agent-persistence"),
  ...headerShape,
  id: z.string().min(1),
  keyId: z.string().min(1),
  wrapped: z.string().min(1),
});

/** The first bytes of an encrypted archive. */
const encryptedMark: Uint8Array = new TextEncoder().encode('{"encrypted":');

/** The plain bytes of each chunk except the last, which can have fewer. */
const chunkBytes = 64 * 1024;

/** The bytes that the encryption adds to a chunk: a nonce and a tag. */
const addedBytes = 28;

/** Binds a data key to its archive. */
function keyContextOf({ agentId, id }: Pick<EncryptedHeader, "agentId" | "id">): string {
  return JSON.stringify(["agent-persistence archive key", agentId, id]);
}

/**
 * Returns the context of a chunk. It binds the chunk to the readable facts of its archive, to its place, and to the end
 * of the archive.
 */
function chunkContextOf(header: ReadableFacts & { readonly id: string }, index: number, isLast: boolean): string {
  const { agentId, position, generation, checksum, shape = null, id } = header;
  const facts = [agentId, position, generation, shape, id, index, isLast];
  return JSON.stringify(["agent-persistence archive", 1, ...facts, ...(checksum === undefined ? [] : [checksum])]);
}

/** Encrypts an archive in chunks, with a random data key that a source encrypts. @throws KeyMissingError */
export async function* encryptedArchive(
  bytes: AsyncIterable<Uint8Array>,
  { agentId, position, generation, checksum, shape }: ReadableFacts,
  keys: KeySource,
): AsyncGenerator<Uint8Array, void, undefined> {
  const dataKey = globalThis.crypto.getRandomValues(new Uint8Array(keyBytes));
  const id = crypto.randomUUID();
  const facts = withoutUndefined({ agentId, position, generation, checksum, shape });
  const wrapped = await wrapKey(keys, dataKey, { agentId, context: keyContextOf({ agentId, id }) });
  const header: EncryptedHeader = { encrypted: 1, library: "agent-persistence", ...facts, id, ...wrapped };
  yield utf8(`${JSON.stringify(header)}\n`);
  const key = await importKey(dataKey);
  let index = 0;
  for await (const { chunk, isLast } of inChunks(bytes))
    yield await encryptWith(key, chunk, chunkContextOf(header, index++, isLast));
}

/**
 * Yields chunks of the same size. The last chunk may be smaller. A chunk is overwritten when the next chunk is
 * requested.
 */
async function* inChunks(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly chunk: Uint8Array; readonly isLast: boolean }> {
  const chunk = new Uint8Array(chunkBytes);
  let used = 0;
  for await (const piece of bytes)
    for (let at = 0; at < piece.length;) {
      if (used === chunkBytes) yield { chunk, isLast: false };
      used %= chunkBytes;
      const part = piece.subarray(at, at + chunkBytes - used);
      chunk.set(part, used);
      used += part.length;
      at += part.length;
    }
  yield { chunk: chunk.subarray(0, used), isLast: true };
}

/** The keys for reading an archive. */
export interface ArchiveKeys {
  readonly source: KeySource;
  /** Whether a plain archive is refused, because anyone could have replaced an encrypted archive by a plain archive. */
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

export const writingKeysSchema: z.ZodType<KeySource | false> = customSchema<KeySource | false>(
  "`false`, or an object with `current`, the id of a key, and the function `get`",
  (value) => value === false || keySourceSchema.safeParse(value).success,
);

/** Returns the keys that encrypt an archive. `undefined` for a plain archive. */
export function writingKeys({ log }: LogStorage, given: KeySource | false | undefined): KeySource | undefined {
  if (given === false) return undefined;
  return given ?? log.capabilities.archiveKeys;
}

/** Returns the keys that decrypt an archive. A plain archive is refused only if keys were given. */
export function readingKeys({ log }: LogStorage, given: KeySource | undefined): ArchiveKeys | undefined {
  const source = given ?? log.capabilities.archiveKeys;
  return source && { source, isRequired: given !== undefined };
}
