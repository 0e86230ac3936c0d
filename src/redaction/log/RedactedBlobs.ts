import { deleteOldest } from "../../internal/deleteOldest.ts";
import { CorruptBlobError } from "../../errors/storedDataErrors.ts";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import { fromUtf8, utf8 } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { type BlobStore, noteStoredBlobs } from "../../storage/BlobStore.ts";
import type { DataKeys, DataKey } from "../../encryption/keys/DataKeys.ts";
import { parseBlobReference } from "../../storage/blobs.ts";
import type { BlobValues } from "../values/KnownSecrets.ts";
import { bytesOfToken, isToken, tokenMark, tokenOf } from "./redactedToken.ts";

const mostReferences = 1_000;
const start = utf8(`"${tokenMark}`);

interface RedactedBlobsContext {
  readonly keyForWriting: (agentId: string) => Promise<DataKey>;
  readonly sha256: () => Promise<Sha256>;
  readonly valuesOf: (agentId: string) => BlobValues;
}

/** The blobs of a redacted log. They are encrypted as a whole, because a blob does not show the path of its value. */
export class RedactedBlobs implements BlobStore {
  readonly #blobs: BlobStore;
  readonly #keys: DataKeys;
  readonly #context: RedactedBlobsContext;
  /** The last references, by agent, generation and plain hash, because equal bytes differ when encrypted. */
  readonly #last = new Map<string, string>();

  constructor(blobs: BlobStore, keys: DataKeys, context: RedactedBlobsContext) {
    this.#blobs = blobs;
    noteStoredBlobs(this, blobs);
    this.#keys = keys;
    this.#context = context;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    const copy = bytes.slice();
    const name = JSON.stringify([agentId, generation, encoding, (await this.#context.sha256()).hex(copy)]);
    const known = this.#last.get(name);
    if (known !== undefined) {
      this.#context.valuesOf(agentId).add(known, copy);
      return known;
    }
    const token = await tokenOf(await this.#context.keyForWriting(agentId), agentId, copy);
    const reference = await this.#blobs.put(agentId, generation, utf8(JSON.stringify(token)), encoding);
    this.#context.valuesOf(agentId).add(reference, copy);
    this.#last.set(name, reference);
    deleteOldest(this.#last, mostReferences);
    return reference;
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const stored = await this.#blobs.get(agentId, reference);
    if (!stored || start.some((byte, at) => stored[at] !== byte)) return stored;
    const token = fromUtf8(stored).slice(1, -1);
    if (!isToken(token)) return stored;
    try {
      const bytes = await bytesOfToken(this.#keys, token, agentId);
      this.#context.valuesOf(agentId).read(reference, bytes);
      return bytes;
    } catch (cause) {
      if (!(cause instanceof AuthenticationFailedError)) throw cause;
      throw new CorruptBlobError(agentId, reference, "was changed, or has another key", { cause });
    }
  }

  /** Copies the encrypted bytes, so that an import or a fork can use the same reference. */
  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    if (await this.#keys.find(fromAgentId)) await this.#keys.writing(toAgentId, async () => false, fromAgentId);
    if (this.#blobs.copy) return this.#blobs.copy(fromAgentId, reference, toAgentId);
    const bytes = await this.#blobs.get(fromAgentId, reference);
    const { generation = 1, encoding } = parseBlobReference(reference) ?? {};
    if (bytes) await this.#blobs.put(toAgentId, generation, bytes, encoding);
    return bytes !== undefined;
  }

  async delete(agentId: string, reference: string): Promise<void> {
    for (const [name, known] of this.#last) if (known === reference) this.#last.delete(name);
    return this.#blobs.delete(agentId, reference);
  }
}
