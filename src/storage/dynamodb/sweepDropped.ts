import { type DynamoDBConnection, type FoundItem, partKeys } from "./items/DynamoDBConnection.ts";
import { blobRange, type ItemKey, type KeyRange, partsUpTo, slotRange, stagedUpTo } from "./items/itemKeys.ts";
import { removeBlob } from "./DynamoDBBlobs.ts";
import { appendParts } from "./slots/SlotReader.ts";
import type { Summaries } from "./lists/Summaries.ts";

interface Dropped {
  readonly agentId: string;
  readonly generation: number;
  readonly slot: number;
  /** When the remaining items expire, in seconds since 1970. `undefined` if the items are kept. */
  readonly expires?: number | undefined;
}

/** Removes the items of a dropped agent, but not of later generations and slots. Safe to run concurrently. */
export async function sweepDropped(
  { connection, summaries }: { readonly connection: DynamoDBConnection; readonly summaries: Summaries },
  { agentId, generation, slot, expires }: Dropped,
): Promise<void> {
  await summaries.remove(agentId, generation, expires);
  if (slot > 0) await removeSlots(connection, agentId, slotRange(agentId, 1, slot), expires);
  for await (const page of connection.pages(blobRange(agentId), { only: ["gen", "parts", "id"] }))
    for (const item of page) await removeBlob(connection, agentId, item, generation);
  for (const range of [stagedUpTo(agentId, generation), partsUpTo(agentId, generation)])
    await removeAll(connection, range);
}

/**
 * Removes appends. Keeps claims, because an earlier owner could write to an empty slot. For the same reason, keeps the
 * item of an owner's first append, but removes the bytes in it.
 */
export async function removeSlots(
  connection: DynamoDBConnection,
  agentId: string,
  range: KeyRange,
  expires?: number,
): Promise<void> {
  for await (const page of connection.pages(range, { only: ["gen", "claim", "first", "parts"] })) {
    const keys: ItemKey[] = [];
    for (const item of page) {
      if (item["gen"] !== undefined) keys.push(...partKeys(appendParts(agentId, item), item));
      if (item["claim"] === undefined && item["first"] === undefined) keys.push(item);
      else if (item["claim"] === undefined || expires !== undefined) await empty(connection, item, expires);
    }
    await connection.deleteAll(keys);
  }
}

export async function removeAll(connection: DynamoDBConnection, range: KeyRange): Promise<void> {
  for await (const page of connection.pages(range, { only: [] })) await connection.deleteAll(page);
}

async function empty(connection: DynamoDBConnection, item: FoundItem, expires: number | undefined): Promise<void> {
  const change = `${expires === undefined ? "" : "SET #expires = :expires "}REMOVE #bytes, #parts`;
  const values = expires === undefined ? {} : { values: { ":expires": expires } };
  await connection.update(item, change, { if: "attribute_exists(#pk)", ...values });
}
