import { CorruptBlobError } from "../../errors/storedDataErrors.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { BlobStore } from "../BlobStore.ts";
import { formatBlobReference, parseBlobReference } from "../blobs.ts";
import { askTableAgain, type RetriedTable } from "./askTable.ts";
import type { TableBlobs } from "./LogTable.ts";

/** Stores blobs in a table by agent and reference. Blobs never change, so calls can be retried. */
export class TableBlobStore implements BlobStore {
  readonly #blobs: TableBlobs;
  readonly #retried: RetriedTable;
  readonly #sha256: () => Promise<Sha256>;

  constructor(blobs: TableBlobs, retried: RetriedTable, sha256: () => Promise<Sha256>) {
    this.#blobs = blobs;
    this.#retried = retried;
    this.#sha256 = sha256;
  }

  async put(agentId: string, generation: number, bytes: Uint8Array, encoding?: "gzip"): Promise<string> {
    assertAgentId(agentId);
    // Copies the bytes, because a slice of a Node Buffer shares its memory.
    const copy = new Uint8Array(bytes);
    const reference = formatBlobReference({ hash: (await this.#sha256()).hex(copy), generation, encoding });
    await this.#ask("put of a blob", agentId, () => this.#blobs.put(agentId, reference, copy));
    return reference;
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    assertAgentId(agentId);
    const parsed = parseBlobReference(reference);
    if (parsed === undefined) return undefined;
    const bytes = await this.#ask("get of a blob", agentId, () => this.#blobs.get(agentId, reference));
    if (bytes === undefined) return undefined;
    if ((await this.#sha256()).hex(bytes) === parsed.hash) return new Uint8Array(bytes);
    throw new CorruptBlobError(agentId, reference, undefined, { place: this.#retried.table.name });
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    assertAgentId(fromAgentId);
    assertAgentId(toAgentId);
    if (parseBlobReference(reference) === undefined) return false;
    return this.#ask("copy of a blob", toAgentId, () => this.#blobs.copy(fromAgentId, reference, toAgentId));
  }

  async delete(agentId: string, reference: string): Promise<void> {
    assertAgentId(agentId);
    if (parseBlobReference(reference) === undefined) return;
    await this.#ask("delete of a blob", agentId, () => this.#blobs.delete(agentId, reference));
  }

  #ask<Result>(operation: string, agentId: string, call: () => Promise<Result>): Promise<Result> {
    return askTableAgain(this.#retried, operation, agentId, call);
  }
}
