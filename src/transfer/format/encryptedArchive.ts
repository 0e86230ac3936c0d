import { encryptWith, importKey } from "../../encryption/keys/aesGcm.ts";
import { keyBytes, wrapKey } from "../../encryption/keys/wrapKey.ts";
import { utf8 } from "../../internal/bytes.ts";
import { randomId } from "../../internal/randomId.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { KeySource } from "../../storage/KeySource.ts";
import {
  chunkBytes,
  chunkContextOf,
  type EncryptedHeader,
  keyContextOf,
  type ReadableFacts,
} from "./encryptedFormat.ts";

/**
 * Encrypts an archive while it is written, in chunks. The data key is random and encrypted with the current key of a
 * source.
 *
 * @throws KeyMissingError
 */
export async function* encryptedArchive(
  bytes: AsyncIterable<Uint8Array>,
  { agentId, position, generation, checksum, shape }: ReadableFacts,
  keys: KeySource,
): AsyncGenerator<Uint8Array, void, undefined> {
  const dataKey = globalThis.crypto.getRandomValues(new Uint8Array(keyBytes));
  const id = randomId();
  const facts = withoutUndefined({ agentId, position, generation, checksum, shape });
  const wrapped = await wrapKey(keys, dataKey, { agentId, context: keyContextOf({ agentId, id }) });
  const header: EncryptedHeader = { encrypted: 1, library: "agent-persistence", ...facts, id, ...wrapped };
  yield utf8(`${JSON.stringify(header)}\n`);
  const key = await importKey(dataKey);
  let index = 0;
  for await (const { chunk, isLast } of inChunks(bytes))
    yield await encryptWith(key, chunk, chunkContextOf(header, index++, isLast));
}

/** Yields chunks of the same size, except the last. A chunk is overwritten when the next one is requested. */
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
