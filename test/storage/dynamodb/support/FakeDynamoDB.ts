import type { DynamoDBClient, DynamoDBItem } from "agent-persistence/dynamodb";
import { checkBatch, checkItem, checkKey, checkRange, sizeOf } from "../serviceLimits.ts";

interface Request {
  readonly Key?: DynamoDBItem;
  readonly Item?: DynamoDBItem;
  readonly ConditionExpression?: string;
  readonly FilterExpression?: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: DynamoDBItem;
  readonly ScanIndexForward?: boolean;
  readonly Limit?: number | undefined;
  readonly ExclusiveStartKey?: DynamoDBItem | undefined;
  readonly ProjectionExpression?: string | undefined;
  readonly RequestItems?: Readonly<Record<string, never>>;
}

type Items = Map<string, DynamoDBItem>;

/** What the service puts into a page at most. */
const pageBytes = 1024 * 1024;

/**
 * One table in memory, and of expressions only what the storage says. Each request happens at once, so that a test decides
 * when, and how often. What the service refuses by its limits is refused.
 */
export class FakeDynamoDB implements DynamoDBClient {
  readonly partitions = new Map<string, Items>();
  /** The most items of a page. */
  pageSize = Infinity;
  /** How many requests of a batch are carried out. */
  batchSize = Infinity;

  /** How many items there are. */
  get size(): number {
    return [...this.partitions.values()].reduce((sum, items) => sum + items.size, 0);
  }

  getItem: DynamoDBClient["getItem"] = async (input) => ({ Item: this.#item((input as Request).Key) });

  putItem: DynamoDBClient["putItem"] = async (input) => {
    const request = input as Request;
    this.#check(request, this.#item(request.Item));
    this.#put(request.Item);
    return {};
  };

  deleteItem: DynamoDBClient["deleteItem"] = async (input) => {
    const request = input as Request;
    this.#check(request, this.#item(request.Key));
    this.#partition(request.Key).delete(sortKey(request.Key));
    return {};
  };

  updateItem: DynamoDBClient["updateItem"] = async (input) => {
    const request = input as Request;
    this.#check(request, this.#item(request.Key));
    const item: Record<string, object> = { ...(this.#item(request.Key) ?? request.Key) };
    const [, set = "", remove = ""] = /^(?:SET (.*?))? ?(?:REMOVE (.*))?$/.exec(request.UpdateExpression ?? "") ?? [];
    for (const [, name, value] of set.matchAll(/#(\w+) = (:\w+)/g)) {
      item[String(name)] = request.ExpressionAttributeValues?.[String(value)] as object;
    }
    for (const [, name] of remove.matchAll(/#(\w+)/g)) delete item[String(name)];
    this.#put(item);
    return { Attributes: structuredClone(item) };
  };

  query: DynamoDBClient["query"] = async (input) => {
    const request = input as Request;
    const values = request.ExpressionAttributeValues ?? {};
    const [pk, from, to] = [":pk", ":from", ":to"].map((name) => values[name] as { S: string; B: Uint8Array });
    checkRange(hex(from?.B), hex(to?.B));
    const items = [...(this.partitions.get(String(pk?.S)) ?? [])]
      .filter(([key]) => key >= hex(from?.B) && key <= hex(to?.B))
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
    if (request.ScanIndexForward === false) items.reverse();
    const start = request.ExclusiveStartKey && sortKey(request.ExclusiveStartKey);
    // What the page before ended with may be removed by now.
    const isLeft = (key: string) =>
      start === undefined || (request.ScanIndexForward === false ? key < start : key > start);
    const left = items.filter(([key]) => isLeft(key));
    const page = firstPage(left.slice(0, Math.min(request.Limit ?? Infinity, this.pageSize)));
    const found = page.map(([, item]) => item).filter((item) => holds(request.FilterExpression, request, item));
    const last = page.at(-1)?.[1];
    return {
      Items: structuredClone(found),
      ...(page.length < left.length &&
        last && { LastEvaluatedKey: { pk: last["pk"], sk: last["sk"] } as DynamoDBItem }),
    };
  };

  batchGetItem: DynamoDBClient["batchGetItem"] = async (input) => {
    const [[table, { Keys }] = ["", { Keys: [] }]] = Object.entries((input as Request).RequestItems ?? {}) as [
      string,
      { readonly Keys: readonly DynamoDBItem[] },
    ][];
    checkBatch(Keys.map(nameOf), 100);
    const done = Keys.slice(0, this.batchSize);
    const left = Keys.slice(done.length);
    const found = done.map((key) => this.#item(key)).filter((item) => item !== undefined);
    return {
      Responses: { [table]: found },
      UnprocessedKeys: left.length > 0 ? { [table]: { Keys: left } } : {},
    };
  };

  batchWriteItem: DynamoDBClient["batchWriteItem"] = async (input) => {
    const [[table, requests] = ["", []]] = Object.entries((input as Request).RequestItems ?? {}) as [
      string,
      readonly { readonly PutRequest?: { Item: DynamoDBItem }; readonly DeleteRequest?: { Key: DynamoDBItem } }[],
    ][];
    const items = requests.map(({ PutRequest, DeleteRequest }) => PutRequest?.Item ?? DeleteRequest?.Key ?? {});
    checkBatch(items.map(nameOf), 25);
    items.forEach(checkItem);
    for (const { PutRequest, DeleteRequest } of requests.slice(0, this.batchSize)) {
      if (PutRequest) this.#put(PutRequest.Item);
      if (DeleteRequest) this.#partition(DeleteRequest.Key).delete(sortKey(DeleteRequest.Key));
    }
    return { UnprocessedItems: requests.length > this.batchSize ? { [table]: requests.slice(this.batchSize) } : {} };
  };

  #check(request: Request, item: DynamoDBItem | undefined): void {
    if (holds(request.ConditionExpression, request, item)) return;
    throw Object.assign(new Error("The conditional request failed"), { name: "ConditionalCheckFailedException" });
  }

  #item(key: DynamoDBItem | undefined): DynamoDBItem | undefined {
    const item = this.#partition(key).get(sortKey(key));
    return item && structuredClone(item);
  }

  #put(item: DynamoDBItem | undefined): void {
    if (item === undefined) return;
    checkItem(item);
    this.#partition(item).set(sortKey(item), structuredClone(item));
  }

  #partition(key: DynamoDBItem | undefined): Items {
    checkKey(key ?? {});
    const pk = (key?.["pk"] as { readonly S: string } | undefined)?.S ?? "";
    const known = this.partitions.get(pk);
    if (known) return known;
    const made: Items = new Map();
    this.partitions.set(pk, made);
    return made;
  }
}

/** As many items as fit into a page, and at least one. */
function firstPage(items: readonly [string, DynamoDBItem][]): readonly [string, DynamoDBItem][] {
  let bytes = 0;
  const tooMany = items.findIndex(([, item], at) => (bytes += sizeOf(item)) > pageBytes && at > 0);
  return tooMany === -1 ? items : items.slice(0, tooMany);
}

function nameOf(item: DynamoDBItem): string {
  return `${JSON.stringify(item["pk"])} ${sortKey(item)}`;
}

function sortKey(item: DynamoDBItem | undefined): string {
  const sk = item?.["sk"] as { readonly B: Uint8Array } | undefined;
  return hex(sk?.B);
}

function hex(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString("hex");
}

/** Evaluates what the storage writes: terms in ORs of ANDs, in parentheses one deep. */
function holds(expression: string | undefined, request: Request, item: DynamoDBItem | undefined): boolean {
  if (expression === undefined) return true;
  const groups: string[] = [];
  const flat = expression.replace(/(?<!exists)\(([^()]*(?:\(#\w+\)[^()]*)*)\)/g, (_, inner: string) => {
    return `@${groups.push(inner) - 1}`;
  });
  return flat.split(" OR ").some((part) =>
    part.split(" AND ").every((term) => {
      const group = /^@(\d+)$/.exec(term.trim());
      return group ? holds(groups[Number(group[1])], request, item) : termHolds(term.trim(), request, item);
    }),
  );
}

function termHolds(term: string, request: Request, item: DynamoDBItem | undefined): boolean {
  const [, not, name] = /^attribute_(not_)?exists\(#(\w+)\)$/.exec(term) ?? [];
  if (name !== undefined) return (item?.[name] === undefined) === (not !== undefined);
  const [, left, operator, right] = /^#(\w+) (=|<|<=) (:\w+)$/.exec(term) ?? [];
  if (left === undefined) throw new Error(`the fake does not know "${term}"`);
  const [a, b] = [plain(item?.[left]), plain(request.ExpressionAttributeValues?.[String(right)])];
  if (a === undefined || b === undefined) return false;
  return operator === "=" ? a === b : operator === "<" ? a < b : a <= b;
}

function plain(attribute: object | undefined): string | number | undefined {
  const { S, N } = (attribute ?? {}) as { readonly S?: string; readonly N?: string };
  return N === undefined ? S : Number(N);
}
