import type { DynamoDBItem } from "agent-persistence/dynamodb";

const [partitionKeyBytes, sortKeyBytes, itemBytes] = [2_048, 1_024, 400 * 1024];

/** @throws what the SDK throws for an item that the service does not take. */
export function checkItem(item: DynamoDBItem): void {
  checkKey(item);
  if (sizeOf(item) > itemBytes) throw refused("Item size has exceeded the maximum allowed size");
}

/** @throws what the SDK throws for a key that the service does not take. */
export function checkKey({ pk, sk }: DynamoDBItem): void {
  const key = { ...(pk && { pk }), ...(sk && { sk }) };
  const bytes = (name: "pk" | "sk") => (key[name] ? attributeBytes(key[name]) : 0);
  if (bytes("pk") === 0 || bytes("pk") > partitionKeyBytes) throw refused("Size of hashkey has exceeded the limit");
  if (bytes("sk") === 0 || bytes("sk") > sortKeyBytes) throw refused("Size of rangekey has exceeded the limit");
}

/** @throws what the SDK throws for a range that ends before it begins. */
export function checkRange(from: string, to: string): void {
  if (from > to) throw refused("The BETWEEN operator requires upper bound to be greater than or equal to lower bound");
}

/** @throws what the SDK throws for a batch that is too large, or names an item twice. */
export function checkBatch(keys: readonly string[], most: number): void {
  if (keys.length === 0 || keys.length > most) throw refused("Member must have length less than or equal to the limit");
  if (new Set(keys).size < keys.length) throw refused("Provided list of item keys contains duplicates");
}

/** About what the service counts: the bytes of names and values. */
export function sizeOf(item: DynamoDBItem): number {
  return Object.entries(item).reduce((sum, [name, attribute]) => sum + name.length + attributeBytes(attribute), 0);
}

function attributeBytes(attribute: object): number {
  const { B, S, M, N } = attribute as {
    readonly B?: Uint8Array;
    readonly S?: string;
    readonly M?: DynamoDBItem;
    readonly N?: string;
  };
  if (N !== undefined && !(Math.abs(Number(N)) < 1e126)) throw refused("The parameter cannot be converted to a number");
  if (M !== undefined) return 3 + sizeOf(M);
  return B?.length ?? Buffer.byteLength(S ?? JSON.stringify(attribute));
}

function refused(message: string): Error {
  return Object.assign(new Error(message), { name: "ValidationException" });
}
