import type { DynamoDBClient } from "agent-persistence/dynamodb";
import { nextTurn } from "../../../../src/internal/nextTurn.ts";

/** A request as it was sent. */
export type SentRequest = readonly [method: keyof DynamoDBClient, input: object];

const writes: ReadonlySet<string> = new Set(["putItem", "updateItem", "deleteItem", "batchWriteItem"]);

/** A client whose requests can be watched, refused, and carried out without an answer. */
export class WatchedDynamoDB implements DynamoDBClient {
  /** The next write is carried out and then reported as failed. */
  losesAnswer = false;
  /** The number of items that queries returned. */
  found = 0;
  /** What was sent. */
  readonly requests: SentRequest[] = [];
  /** Called before each request; what it throws is what the SDK throws. */
  onRequest: (...request: SentRequest) => void | Promise<void> = () => {};
  readonly #client: DynamoDBClient;
  readonly #running = new Set<Promise<unknown>>();

  constructor(client: DynamoDBClient) {
    this.#client = client;
  }

  getItem: DynamoDBClient["getItem"] = (input) => this.#send("getItem", input);
  putItem: DynamoDBClient["putItem"] = (input) => this.#send("putItem", input);
  updateItem: DynamoDBClient["updateItem"] = (input) => this.#send("updateItem", input);
  deleteItem: DynamoDBClient["deleteItem"] = (input) => this.#send("deleteItem", input);
  query: DynamoDBClient["query"] = async (input) => {
    const answer = await this.#send("query", input);
    this.found += (answer as Awaited<ReturnType<DynamoDBClient["query"]>>).Items?.length ?? 0;
    return answer;
  };
  batchGetItem: DynamoDBClient["batchGetItem"] = (input) => this.#send("batchGetItem", input);
  batchWriteItem: DynamoDBClient["batchWriteItem"] = (input) => this.#send("batchWriteItem", input);

  /** Resolves when no request is under way, nor one that an answer led to. */
  async idle(): Promise<void> {
    do {
      await Promise.allSettled(this.#running);
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    } while (this.#running.size > 0);
  }

  async #send<Method extends keyof DynamoDBClient>(method: Method, input: object): Promise<never> {
    this.requests.push([method, input]);
    const answer = this.#carryOut(method, input);
    this.#running.add(answer);
    try {
      return (await answer) as never;
    } finally {
      this.#running.delete(answer);
    }
  }

  async #carryOut(method: keyof DynamoDBClient, input: object): Promise<object> {
    await this.onRequest(method, input);
    const answer = await (this.#client[method] as (input: object) => Promise<object>)(input);
    if (!this.losesAnswer || !isWrite(method)) return answer;
    this.losesAnswer = false;
    throw connectionBroke();
  }
}

/** Whether requests of this kind write. */
export function isWrite(method: keyof DynamoDBClient): boolean {
  return writes.has(method);
}

/** What the SDK throws when a connection breaks. */
export function connectionBroke(): Error {
  return Object.assign(new Error("socket hang up"), { name: "TimeoutError", code: "ECONNRESET" });
}
