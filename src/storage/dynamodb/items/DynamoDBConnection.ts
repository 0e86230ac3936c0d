import type { StorageFailure } from "../../../errors/storageErrors.ts";
import { type Clock, pause } from "../../../internal/Clock.ts";
import { type Attributes, fromItem, toItem } from "./attributes.ts";
import type { DynamoDBClient, DynamoDBItem } from "./DynamoDBClient.ts";
import type { ItemKey, KeyRange } from "./itemKeys.ts";

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

export interface ItemPage {
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
