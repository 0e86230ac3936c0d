import type { DynamoDBConnection, FoundItem } from "./items/DynamoDBConnection.ts";
import { blobRange, type ItemKey, type KeyRange, partsUpTo, slotRange, stagedUpTo } from "./items/itemKeys.ts";
import { removeBlob } from "./DynamoDBBlobs.ts";
import { partKeys } from "./items/itemParts.ts";
import { appendParts } from "./slots/SlotReader.ts";
import type { Summaries } from "./lists/Summaries.ts";

/** What a dropped agent leaves. */
export interface Dropped {
  readonly agentId: string;
  /** Of the last owner whose items go. */
  readonly generation: number;
  /** The last slot whose append goes. */
  readonly slot: number;
  /** When what is left may go, in seconds since 1970. Absent: it stays. */
  readonly expires?: number | undefined;
}

/**
 * Removes what is there of a dropped agent. Others may do the same at once, and a later owner may have begun: nothing of a
 * later generation or a later slot is touched.
 */
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
 * Removes appends. Of the first of an owner only the bytes go: in its slot, an owner before would otherwise find room.
 * Claims stay for the same reason.
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

/** Removes all items of a range. */
export async function removeAll(connection: DynamoDBConnection, range: KeyRange): Promise<void> {
  for await (const page of connection.pages(range, { only: [] })) await connection.deleteAll(page);
}

async function empty(connection: DynamoDBConnection, item: FoundItem, expires: number | undefined): Promise<void> {
  const change = `${expires === undefined ? "" : "SET #expires = :expires "}REMOVE #bytes, #parts`;
  const values = expires === undefined ? {} : { values: { ":expires": expires } };
  await connection.update(item, change, { if: "attribute_exists(#pk)", ...values });
}
