import { concatenated } from "../../../internal/bytes.ts";
import type { Attributes, DynamoDBConnection, FoundItem } from "./DynamoDBConnection.ts";
import { type ItemKey, partKey, partRange } from "./itemKeys.ts";

/** The maximum number of content bytes in one item. DynamoDB limits an item to 400 KB. */
const inlineBytes = 380 * 1024;

export interface PartsOwner {
  readonly agentId: string;
  readonly generation: number;
  readonly id: string;
}

export interface Content extends Attributes {
  readonly bytes?: Uint8Array;
  readonly parts?: number;
}

export async function putParts(
  connection: DynamoDBConnection,
  owner: PartsOwner,
  bytes: Uint8Array,
  inline: number = inlineBytes,
): Promise<Content> {
  if (bytes.length <= inline) return { bytes };
  const count = Math.ceil(bytes.length / inlineBytes);
  const partOf = (index: number) => bytes.slice(index * inlineBytes, (index + 1) * inlineBytes);
  await connection.putAll(
    Array.from({ length: count }, (_, index) => ({ ...keyOf(owner, index), bytes: partOf(index) })),
  );
  return { parts: count };
}

/** Returns the bytes of an item. `undefined` if they were removed. */
export async function itemBytes(
  connection: DynamoDBConnection,
  owner: PartsOwner,
  { bytes, parts }: Attributes,
): Promise<Uint8Array | undefined> {
  if (parts === undefined) return bytes as Uint8Array | undefined;
  const found: FoundItem[] = [];
  const { agentId, generation, id } = owner;
  for await (const page of connection.pages(partRange(agentId, generation, id))) found.push(...page);
  if (found.length !== parts) return undefined;
  return concatenated(found.map((part) => part["bytes"] as Uint8Array));
}

export function partKeys(owner: PartsOwner, { parts }: Attributes): readonly ItemKey[] {
  return Array.from({ length: Number(parts ?? 0) }, (_, index) => keyOf(owner, index));
}

function keyOf({ agentId, generation, id }: PartsOwner, index: number): ItemKey {
  return partKey(agentId, generation, id, index);
}
