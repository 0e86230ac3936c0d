import type { StorageFailure } from "../../../errors/storageErrors.ts";
import { pause } from "../../../internal/abortable.ts";
import type { Clock } from "../../../internal/Clock.ts";
import { type ItemKey, type KeyRange, partKey, partRange } from "./itemKeys.ts";
import { concatenated } from "../../../internal/bytes.ts";

/** A condition for a write. Attribute names start with `#`, values with `:`. */
export interface Condition {
  readonly if: string;
  readonly values?: Attributes;
}

export interface RangeQuery {
  readonly descending?: boolean;
  /** The maximum number of items. Defaults to one page of the service, which is 1 MB. */
  readonly limit?: number;
  readonly only?: readonly string[];
  /** Returns only items that match this condition. The service still charges for all items. */
  readonly filter?: Condition | undefined;
  readonly after?: DynamoDBItem | undefined;
}

export type FoundItem = ItemKey & Attributes;

interface ItemPage {
  readonly items: readonly FoundItem[];
  readonly next?: DynamoDBItem | undefined;
}

const [deletedAtOnce, readAtOnce] = [25, 100];
const [shortestPauseMs, longestPauseMs, maxAttempts] = [50, 2_000, 10];

/** The requests of the storage to one table. All reads are strongly consistent. */
export class DynamoDBConnection {
  readonly #client: DynamoDBClient;
  readonly #table: { readonly TableName: string };
  readonly #clock: Clock;

  constructor(client: DynamoDBClient, tableName: string, clock: Clock) {
    this.#client = client;
    this.#table = { TableName: tableName };
    this.#clock = clock;
  }

  async get({ pk, sk }: ItemKey): Promise<FoundItem | undefined> {
    const { Item } = await this.#client.getItem({ ...this.#table, Key: toItem({ pk, sk }), ConsistentRead: true });
    return Item && (fromItem(Item) as FoundItem);
  }

  async put({ pk, sk }: ItemKey, attributes: Attributes, condition?: Condition): Promise<boolean> {
    const Item = toItem({ ...attributes, pk, sk });
    return holds(() => this.#client.putItem({ ...this.#table, Item, ...expressionOf(condition) }));
  }

  /** Returns the updated item. `undefined` if the condition is not met. */
  async update({ pk, sk }: ItemKey, change: string, condition: Condition): Promise<FoundItem | undefined> {
    let updated: DynamoDBItem | undefined;
    await holds(async () => {
      const answer = await this.#client.updateItem({
        ...this.#table,
        Key: toItem({ pk, sk }),
        ...expressionOf(condition, change),
        UpdateExpression: change,
        ReturnValues: "ALL_NEW",
      });
      updated = answer.Attributes;
    });
    return updated && (fromItem(updated) as FoundItem);
  }

  async delete({ pk, sk }: ItemKey, condition?: Condition): Promise<boolean> {
    const Key = toItem({ pk, sk });
    return holds(() => this.#client.deleteItem({ ...this.#table, Key, ...expressionOf(condition) }));
  }

  async query({ pk, from, to }: KeyRange, query: RangeQuery = {}): Promise<ItemPage> {
    const { descending, limit, only, filter, after } = query;
    const projection = only && ["pk", "sk", ...only].map((name) => `#${name}`).join(", ");
    const conditions = "#pk = :pk AND #sk BETWEEN :from AND :to";
    const { ConditionExpression: FilterExpression, ...expression } = expressionOf(
      { if: filter?.if ?? "", values: { ...filter?.values, ":pk": pk, ":from": from, ":to": to } },
      conditions,
      projection ?? "",
    );
    const { Items = [], LastEvaluatedKey } = await this.#client.query({
      ...this.#table,
      ...expression,
      KeyConditionExpression: conditions,
      FilterExpression,
      ProjectionExpression: projection,
      ConsistentRead: true,
      ScanIndexForward: !descending,
      Limit: limit,
      ExclusiveStartKey: after,
    });
    return { items: Items.map((item) => fromItem(item) as FoundItem), next: LastEvaluatedKey };
  }

  async *pages(range: KeyRange, query: RangeQuery = {}): AsyncGenerator<readonly FoundItem[]> {
    let after: DynamoDBItem | undefined;
    do {
      const { items, next } = await this.query(range, { ...query, after });
      yield items;
      after = next;
    } while (after);
  }

  async getAll(keys: readonly ItemKey[]): Promise<readonly FoundItem[]> {
    const found: FoundItem[] = [];
    await this.#inBatches(keys.map(keyItem), readAtOnce, async (Keys) => {
      const RequestItems = { [this.#table.TableName]: { Keys, ConsistentRead: true } };
      const { Responses, UnprocessedKeys } = await this.#client.batchGetItem({ RequestItems });
      for (const item of Responses?.[this.#table.TableName] ?? []) found.push(fromItem(item) as FoundItem);
      const left = UnprocessedKeys?.[this.#table.TableName] as { readonly Keys?: readonly object[] } | undefined;
      return left?.Keys ?? [];
    });
    return found;
  }

  async putAll(items: readonly FoundItem[]): Promise<void> {
    await this.#writeAll(items.map((item) => ({ PutRequest: { Item: toItem(item) } })));
  }

  async deleteAll(keys: readonly ItemKey[]): Promise<void> {
    await this.#writeAll(keys.map((key) => ({ DeleteRequest: { Key: keyItem(key) } })));
  }

  async #writeAll(requests: readonly object[]): Promise<void> {
    await this.#inBatches(requests, deletedAtOnce, async (batch) => {
      const RequestItems = { [this.#table.TableName]: batch };
      const { UnprocessedItems } = await this.#client.batchWriteItem({ RequestItems });
      return UnprocessedItems?.[this.#table.TableName] ?? [];
    });
  }

  /** Retries unprocessed items. The delay grows while the service processes no items. */
  async #inBatches(
    all: readonly object[],
    size: number,
    ask: (batch: readonly object[]) => Promise<readonly object[]>,
  ): Promise<void> {
    for (let at = 0; at < all.length; at += size) {
      let left: readonly object[] = all.slice(at, at + size);
      for (let attempt = 1; ; attempt++) {
        const before = left.length;
        left = await ask(left);
        if (left.length === 0) break;
        if (left.length < before) attempt = 1;
        if (attempt === maxAttempts) throw new Error(`${left.length} requests of a batch were not processed`);
        await pause(this.#clock, Math.min(shortestPauseMs * 2 ** attempt, longestPauseMs));
      }
    }
  }
}

const refused = "ConditionalCheckFailedException";
const forbidden =
  /AccessDenied|UnrecognizedClient|Authentication|ExpiredToken|Signature|Credentials|IncompleteSignature/;
const mistaken = new Set([
  "ValidationException",
  "ResourceNotFoundException",
  "ItemCollectionSizeLimitExceededException",
]);

/** Classifies an error of the client. Throttling and unknown errors are retryable. */
export function dynamoDBFailure(error: unknown): StorageFailure {
  const { name } = Object(error) as { readonly name?: unknown };
  if (mistaken.has(String(name))) return "io";
  return forbidden.test(String(name)) ? "permission" : "unavailable";
}

const advice: Readonly<Record<string, string>> = {
  ResourceNotFoundException: "Create the table from dynamoDBTable() in the account and region of the client.",
  AccessDeniedException:
    "Allow GetItem, PutItem, UpdateItem, DeleteItem, Query, BatchGetItem and BatchWriteItem on the table.",
};

export function dynamoDBAdvice(error: unknown): string | undefined {
  return advice[String((Object(error) as { readonly name?: unknown }).name)];
}

async function holds(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if ((Object(error) as { readonly name?: unknown }).name === refused) return false;
    throw error;
  }
}

function keyItem({ pk, sk }: ItemKey): Record<string, object> {
  return toItem({ pk, sk });
}

function expressionOf(condition: Condition | undefined, ...others: readonly string[]) {
  const texts = [condition?.if ?? "", ...others].join(" ");
  const names = new Set(texts.match(/#\w+/g));
  return {
    ...(condition?.if && { ConditionExpression: condition.if }),
    ...(names.size > 0 && {
      ExpressionAttributeNames: Object.fromEntries([...names].map((name) => [name, name.slice(1)])),
    }),
    ...(condition?.values && { ExpressionAttributeValues: toItem(condition.values) }),
  };
}

/** The methods of the client `DynamoDB` of the AWS SDK that the storage calls, without an import of the SDK. */
export interface DynamoDBClient {
  getItem(input: object): Promise<{ readonly Item?: DynamoDBItem | undefined }>;
  putItem(input: object): Promise<object>;
  updateItem(input: object): Promise<{ readonly Attributes?: DynamoDBItem | undefined }>;
  deleteItem(input: object): Promise<object>;
  query(input: object): Promise<{
    readonly Items?: readonly DynamoDBItem[] | undefined;
    readonly LastEvaluatedKey?: DynamoDBItem | undefined;
  }>;
  batchGetItem(input: object): Promise<{
    readonly Responses?: Readonly<Record<string, readonly DynamoDBItem[]>> | undefined;
    readonly UnprocessedKeys?: Readonly<Record<string, object>> | undefined;
  }>;
  batchWriteItem(input: object): Promise<{
    readonly UnprocessedItems?: Readonly<Record<string, readonly object[]>> | undefined;
  }>;
}

/** An item in the format of the service: each attribute is an object that names its type. */
export type DynamoDBItem = Readonly<Record<string, object>>;

type AttributeValue = string | number | Uint8Array | readonly number[] | Attributes;

/** The attributes of an item. Attributes with the value `undefined` are not stored. */
export interface Attributes {
  readonly [name: string]: AttributeValue | undefined;
}

export function toItem(attributes: Attributes): Record<string, object> {
  const present = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, toAttribute(value as AttributeValue)]));
}

function fromItem(item: DynamoDBItem): Attributes {
  return Object.fromEntries(Object.entries(item).map(([name, attribute]) => [name, fromAttribute(attribute)]));
}

function toAttribute(value: AttributeValue): object {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number") return { N: String(value) };
  if (value instanceof Uint8Array) return { B: value };
  if (Array.isArray(value)) return { L: value.map(toAttribute) };
  return { M: toItem(value as Attributes) };
}

function fromAttribute(attribute: object): AttributeValue | undefined {
  const [type, value] = Object.entries(attribute)[0] as [string, unknown];
  switch (type) {
    case "S":
      return value as string;
    case "N":
      return Number(value);
    case "B":
      // Copies the bytes, because a slice of a Buffer shares memory with a larger buffer.
      return new Uint8Array(value as Uint8Array);
    case "L":
      return (value as readonly object[]).map((part) => fromAttribute(part) as number);
    case "M":
      return fromItem(value as DynamoDBItem);
    default:
      return undefined;
  }
}

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

/** Returns the bytes of an item. `undefined` if the bytes were removed or are damaged. */
export async function itemBytes(
  connection: DynamoDBConnection,
  owner: PartsOwner,
  { bytes, parts }: Attributes,
): Promise<Uint8Array | undefined> {
  if (parts === undefined) return isBytes(bytes) ? bytes : undefined;
  const found: unknown[] = [];
  const { agentId, generation, id } = owner;
  for await (const page of connection.pages(partRange(agentId, generation, id)))
    found.push(...page.map((part) => part["bytes"]));
  return found.length === parts && found.every(isBytes) ? concatenated(found) : undefined;
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

export function partKeys(owner: PartsOwner, { parts }: Attributes): readonly ItemKey[] {
  return Array.from({ length: Number(parts ?? 0) }, (_, index) => keyOf(owner, index));
}

function keyOf({ agentId, generation, id }: PartsOwner, index: number): ItemKey {
  return partKey(agentId, generation, id, index);
}
