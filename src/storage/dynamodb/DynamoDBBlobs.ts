import { randomId } from "../../internal/randomId.ts";
import { parseBlobReference } from "../blobReference.ts";
import type { TableBlobs } from "../table/LogTable.ts";
import type { Attributes } from "./items/attributes.ts";
import type { DynamoDBConnection } from "./items/DynamoDBConnection.ts";
import { blobKey, type ItemKey } from "./items/itemKeys.ts";
import { bytesOf, partKeys, type PartsOwner, putParts } from "./items/itemParts.ts";

/**
 * Blobs as items, with parts where they are larger than one. Each put has parts of its own, and replaces the blob in one
 * step: what comes late finds either whole.
 */
export class DynamoDBBlobs implements TableBlobs {
  readonly #connection: DynamoDBConnection;
  /** The generation of the owner of an agent in this process; 0: it has none. */
  readonly #generationOf: (agentId: string) => number;

  constructor(connection: DynamoDBConnection, generationOf: (agentId: string) => number) {
    this.#connection = connection;
    this.#generationOf = generationOf;
  }

  async put(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    const generation = this.#generationOf(agentId) || (parseBlobReference(reference)?.generation ?? 0);
    const key = blobKey(agentId, reference);
    const before = await this.#connection.get(key);
    const owner = { agentId, generation, id: `blob ${randomId()}` };
    const content = await putParts(this.#connection, owner, bytes);
    await this.#connection.put(key, { gen: generation, id: owner.id, ...content });
    if (before) await this.#connection.deleteAll(partKeys(partsOf(agentId, before), before));
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const key = blobKey(agentId, reference);
    for (let before: unknown; ;) {
      const item = await this.#connection.get(key);
      const bytes = item && (await bytesOf(this.#connection, partsOf(agentId, item), item));
      // Its parts go when it is put again.
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

/** Removes a blob as it was read, if an owner up to this generation put it. */
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
