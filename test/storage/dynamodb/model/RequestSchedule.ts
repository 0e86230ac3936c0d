import type { DynamoDBClient } from "agent-persistence/dynamodb";
import { SimulatedClock } from "agent-persistence/testing";
import { nextTurn } from "../../../../src/internal/nextTurn.ts";
import { connectionBroke, isWrite } from "../support/WatchedDynamoDB.ts";

type Method = keyof DynamoDBClient;

interface Waiting {
  readonly method: Method;
  readonly input: object;
  readonly resolve: (answer: object) => void;
  readonly reject: (error: unknown) => void;
}

/** What comes next: a number below a limit. */
export type Choose = (limit: number) => number;

/**
 * Requests of several processes to one table, carried out one at a time in an order that is chosen. Answers may get lost, time
 * passes for one process or another, and a write may be carried out once more at any later time.
 */
export class RequestSchedule {
  readonly #table: DynamoDBClient;
  readonly #choose: Choose;
  #waiting: Waiting[] = [];
  readonly #clocks: SimulatedClock[] = [];
  #late: (readonly [method: Method, input: object])[] = [];

  constructor(table: DynamoDBClient, choose: Choose) {
    this.#table = table;
    this.#choose = choose;
  }

  /** The clock of a process. */
  clock(): SimulatedClock {
    const clock = new SimulatedClock();
    this.#clocks.push(clock);
    return clock;
  }

  /** The client of a process. */
  client(): DynamoDBClient {
    const send = (method: Method) => (input: object) =>
      new Promise<never>((resolve, reject) => {
        this.#waiting.push({ method, input, resolve: resolve as (answer: object) => void, reject });
      });
    const methods: readonly Method[] = [
      "getItem",
      "putItem",
      "updateItem",
      "deleteItem",
      "query",
      "batchGetItem",
      "batchWriteItem",
    ];
    return Object.fromEntries(methods.map((method) => [method, send(method)])) as unknown as DynamoDBClient;
  }

  /** Carries requests out until all processes have ended, and then what is late. */
  async run(processes: readonly Promise<unknown>[]): Promise<void> {
    let running = processes.length;
    for (const process of processes) {
      const end = () => running--;
      process.then(end, end);
    }
    while (running > 0) {
      await nextTurn();
      await this.#step();
    }
    while (this.#late.length > 0) await this.#repeat();
  }

  async #step(): Promise<void> {
    if (this.#late.length > 0 && this.#choose(6) === 0) return this.#repeat();
    if (this.#choose(8) === 0) this.#clocks[this.#choose(this.#clocks.length)]?.advance(1_000);
    const [next] = this.#waiting.splice(this.#choose(Math.max(1, this.#waiting.length)), 1);
    if (next === undefined) return;
    const { method, input, resolve, reject } = next;
    if (isWrite(method) && this.#choose(5) === 0) this.#late.push([method, input]);
    try {
      const answer = await this.#ask(method, input);
      if (isWrite(method) && this.#choose(25) === 0) reject(connectionBroke());
      else resolve(answer);
    } catch (error) {
      reject(error);
    }
  }

  async #repeat(): Promise<void> {
    const [late] = this.#late.splice(this.#choose(this.#late.length), 1);
    // Nobody waits for its answer.
    if (late) await this.#ask(...late).catch(() => {});
  }

  #ask(method: Method, input: object): Promise<object> {
    return (this.#table[method] as (input: object) => Promise<object>)(input);
  }
}
