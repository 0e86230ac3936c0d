import { parseBlobReference } from "../blobs.ts";
import type { TableBlobs } from "../table/LogTable.ts";
import {
  type Attributes,
  type DynamoDBConnection,
  itemBytes,
  partKeys,
  type PartsOwner,
  putParts,
} from "./items/DynamoDBConnection.ts";
import { blobKey, type ItemKey } from "./items/itemKeys.ts";

/**
 * Stores blobs as items, split into parts if they exceed one item. A put writes new parts and then replaces the blob in
 * one step, so concurrent readers always find a complete blob.
 */
export class DynamoDBBlobs implements TableBlobs {
  readonly #connection: DynamoDBConnection;
  readonly #generationOf: (agentId: string) => number;

  constructor(connection: DynamoDBConnection, generationOf: (agentId: string) => number) {
    this.#connection = connection;
    this.#generationOf = generationOf;
  }

  async put(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    const generation = this.#generationOf(agentId) || (parseBlobReference(reference)?.generation ?? 0);
    const key = blobKey(agentId, reference);
    const before = await this.#connection.get(key);
    const owner = { agentId, generation, id: `blob ${crypto.randomUUID()}` };
    const content = await putParts(this.#connection, owner, bytes);
    await this.#connection.put(key, { gen: generation, id: owner.id, ...content });
    if (before) await this.#connection.deleteAll(partKeys(partsOf(agentId, before), before));
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const key = blobKey(agentId, reference);
    for (let before: unknown; ;) {
      const item = await this.#connection.get(key);
      const bytes = item && (await itemBytes(this.#connection, partsOf(agentId, item), item));
      // If parts are missing and the item has a new id, a concurrent put replaced the blob, so the item is read again.
      if (bytes || item?.["id"] === before) return bytes;
      before = item?.["id"];
    }
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    const bytes = await this.get(fromAgentId, reference);
    if (bytes) await this.put(toAgentId, reference, bytes);
    return bytes !== undefined;
  }

  async delete(agentId: string, reference: string): Promise<void> {
    const item = await this.#connection.get(blobKey(agentId, reference));
    if (item) await removeBlob(this.#connection, agentId, item, Number.MAX_SAFE_INTEGER);
  }
}

/** Deletes a blob if it is unchanged and was written in this or an earlier generation. */
export async function removeBlob(
  connection: DynamoDBConnection,
  agentId: string,
  item: ItemKey & Attributes,
  generation: number,
): Promise<void> {
  const values = { ":g": generation, ":id": item["id"] as string };
  if (await connection.delete(item, { if: "#gen <= :g AND #id = :id", values }))
    await connection.deleteAll(partKeys(partsOf(agentId, item), item));
}

function partsOf(agentId: string, { gen, id }: Attributes): PartsOwner {
  return { agentId, generation: Number(gen), id: id as string };
}
