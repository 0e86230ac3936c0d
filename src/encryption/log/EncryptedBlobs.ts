import { NotSupportedError } from "../../errors/storageErrors.ts";
import { CorruptBlobError } from "../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import { formatBlobReference, parseBlobReference } from "../../storage/blobs.ts";
import type { DataKeys, DataKey } from "../keys/DataKeys.ts";
import { blobNameOf } from "./sealedRecords.ts";

interface BlobPlace {
  readonly agentId: string;
  readonly generation: number;
  readonly encoding: "gzip" | undefined;
}

const version = new Uint8Array([1]);

/** The blobs of an encrypted log. References contain the hash of the plain bytes, stored names do not. */
export class EncryptedBlobs implements BlobStore {
  readonly #blobs: Required<Pick<BlobStore, "putNamed" | "getNamed" | "delete">>;
  readonly #keys: DataKeys;
  readonly #hasData: (agentId: string) => Promise<boolean>;
  readonly #sha256: () => Promise<Sha256>;
  #hash: Sha256 | undefined;

  /** @throws NotSupportedError if the blobs cannot have chosen names. */
  constructor(
    blobs: BlobStore,
    keys: DataKeys,
    hasData: (agentId: string) => Promise<boolean>,
    sha256: () => Promise<Sha256>,
  ) {
    if (!blobs.putNamed || !blobs.getNamed)
      throw new NotSupportedError("encrypted()", "a blob store with the methods putNamed() and getNamed()");
    this.#blobs = blobs as Required<BlobStore>;
    this.#keys = keys;
    this.#hasData = hasData;
    this.#sha256 = sha256;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    const key = this.#keys.known(agentId);
    if (key && this.#hash) return this.#put({ key, sha256: this.#hash }, { agentId, generation, encoding }, bytes);
    // Copies the bytes before the first await, because the caller may change them afterwards.
    const copy = bytes.slice();
    const sha256 = (this.#hash = await this.#sha256());
    const created = await this.#keys.writing(agentId, () => this.#hasData(agentId));
    return this.#put({ key: created, sha256 }, { agentId, generation, encoding }, copy);
  }

  /** Stores bytes, which are all read before the first await. */
  async #put(
    { key, sha256 }: { readonly key: DataKey; readonly sha256: Sha256 },
    { agentId, generation, encoding }: BlobPlace,
    bytes: Uint8Array,
  ): Promise<string> {
    const reference = formatBlobReference({ hash: sha256.hex(bytes), generation, encoding });
    const encrypted = await key.encrypt(bytes, contextOf(agentId, reference, key), version);
    await this.#blobs.putNamed(agentId, await blobNameOf(key, reference), encrypted);
    return reference;
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    if (parseBlobReference(reference) === undefined) return undefined;
    const key = await this.#keyOf(agentId);
    if (!key) return undefined;
    const name = await blobNameOf(key, reference);
    const stored = await this.#blobs.getNamed(agentId, name);
    if (!stored) return undefined;
    const bytes =
      stored[0] === version[0] && (await key.decrypt(stored.subarray(1), contextOf(agentId, reference, key)));
    if (bytes) return bytes;
    const found = "was changed, or belongs to another agent or another key";
    throw new CorruptBlobError(agentId, reference, found, { place: `the stored blob ${name}` });
  }

  async delete(agentId: string, reference: string): Promise<void> {
    if (parseBlobReference(reference) === undefined) return;
    const key = await this.#keyOf(agentId);
    if (key) await this.#blobs.delete(agentId, await blobNameOf(key, reference));
  }

  /** @throws KeyMissingError if the agent has encrypted data without a key. */
  async #keyOf(agentId: string): Promise<DataKey | undefined> {
    const key = await this.#keys.find(agentId);
    if (key || !(await this.#hasData(agentId))) return key;
    return this.#keys.writing(agentId, async () => true);
  }
}

function contextOf(agentId: string, reference: string, { id }: DataKey): string {
  return JSON.stringify(["agent-persistence blob", 1, agentId, reference, id]);
}
