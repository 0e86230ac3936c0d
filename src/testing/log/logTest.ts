import type { Entry, LogRecord } from "../../checkpoint/records/Entry.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../../storage/RecordLog.ts";
import { type ConformanceTest, defineConformanceTest, type Expectations } from "../support/Expectations.ts";

/** A test of a log, which is given by itself or in a harness. */
export type RecordLogTest = ConformanceTest<RecordLog | RecordLogHarness>;

/** One test of a log; a fresh one is made for it. */
export function logTest(
  name: string,
  body: (storage: RecordLogUnderTest, expect: Expectations) => Promise<void>,
): RecordLogTest {
  return defineConformanceTest(name, (made: RecordLog | RecordLogHarness) => new RecordLogUnderTest(made), body);
}

/** How often the suite looks whether a request to stop has arrived, a second of the storage's time apart. */
const looks = 500;

/** A log as the tests use it. */
export class RecordLogUnderTest {
  readonly #harness: RecordLogHarness;
  log: RecordLog;
  #owners = 0;

  constructor(made: RecordLog | RecordLogHarness) {
    this.#harness = harnessOf(made);
    this.log = this.#harness.log;
  }

  nextOwner(): LogOwner {
    return { host: "conformance", processId: 1, nonce: `owner ${++this.#owners}` };
  }

  open(agentId: string): Promise<OwnedLog> {
    return this.log.open(agentId, this.nextOwner());
  }

  /** Opens, does something and releases. */
  async own<Result>(agentId: string, action: (owned: OwnedLog) => Promise<Result>): Promise<Result> {
    const owned = await this.open(agentId);
    const result = await action(owned);
    await owned.release();
    return result;
  }

  /** Continues with another instance on the same data; every owner has been released before. */
  async reopen(): Promise<void> {
    if (this.#harness.reopen !== undefined) this.log = await this.#harness.reopen();
  }

  /** A second instance beside the first, where the storage takes two processes. */
  async beside(): Promise<RecordLog | undefined> {
    return this.log.capabilities.processes === "many" ? this.#harness.reopen?.() : undefined;
  }

  async entries(agentId: string, options?: ReadOptions): Promise<Entry[]> {
    return collect(this.log.read(agentId, options));
  }

  async positions(agentId: string, options?: ReadOptions): Promise<number[]> {
    return this.fields(agentId, "position", options);
  }

  /** One field of each entry. */
  async fields<Key extends keyof Entry>(agentId: string, key: Key, options?: ReadOptions): Promise<Entry[Key][]> {
    return (await this.entries(agentId, options)).map((entry) => entry[key]);
  }

  async list(options?: ListOptions): Promise<AgentSummary[]> {
    return collect(this.log.list(options));
  }

  async listIds(options?: ListOptions): Promise<string[]> {
    return (await this.list(options)).map(({ agentId }) => agentId);
  }

  /** Expects an agent to have appends of one record with these texts, and no others. */
  async expectTexts(agentId: string, texts: readonly string[], expect: Expectations): Promise<void> {
    const name = JSON.stringify(agentId.length > 40 ? `${agentId.slice(0, 40)}…` : agentId);
    const expected = texts.map((text) => [exampleRecord(text)]);
    expect.equal(`the records of agent ${name}`, await this.fields(agentId, "records"), expected);
  }

  /** Waits until the signal is aborted, for a bounded number of turns and of the storage's seconds. */
  async aborted(agentId: string, signal: AbortSignal): Promise<boolean> {
    for (let look = 0; look < looks && !signal.aborted; look++) {
      await this.#harness.advance?.(1_000);
      // What the storage does in the meantime takes real time, and so does this.
      await this.log.owner(agentId);
      await nextTurn();
    }
    return signal.aborted;
  }
}

/** Everything that is iterated over. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const harnessSchema = strictOptions({
  log: objectWithMethods<RecordLog>("open", "read", "list", "owner", "requestStop", "close"),
  reopen: functionSchema().optional(),
  advance: functionSchema().optional(),
});

function harnessOf(made: RecordLog | RecordLogHarness | undefined): RecordLogHarness {
  const harness = (made as Partial<RecordLog> | undefined)?.capabilities ? { log: made } : made;
  checkSchema(harnessSchema, harness, "harness of a log");
  return harness as RecordLogHarness;
}

/** A record that carries a value. A storage sees plain JSON and knows no kinds but `pruned`. */
export function exampleRecord(value: unknown): LogRecord {
  const record = { kind: "example", value };
  return record;
}

/** A summary with every field that a storage must keep; what `more` says goes in its place. */
export function exampleSummary(agentId: string, status: string, more: Partial<AgentSummary> = {}): AgentSummary {
  return {
    agentId,
    status,
    order: "1",
    dueAt: "2026-02-01T00:00:00.000Z",
    requestIds: ["r1", "r2"],
    position: 0,
    taskName: "import",
    priority: 5,
    inputRequest: { file: "people.csv" },
    runId: `run of ${agentId}`,
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-02T00:00:00.000Z",
    data: { pauseReason: "é😀", list: [1, null, { deep: [] }] },
    ...more,
  };
}

/** Appends one record at the end, under an id of the form that the library generates. */
export function appendText(owned: OwnedLog, text: string, more: Partial<LogAppend> = {}): Promise<number> {
  const append = { id: `${owned.generation}-${owned.position + 1}`, records: [exampleRecord(text)], ...more };
  return owned.append(append, owned.position);
}

/** A log to be tested, with what else the suite may do to it. */
export interface RecordLogHarness {
  readonly log: RecordLog;
  /**
   * Another instance on the same data, as a new process would have. One that says `processes: "one"` may close the first;
   * else the first stays in use. Absent: the suite keeps the first and cannot see what a storage forgets.
   */
  readonly reopen?: () => RecordLog | PromiseLike<RecordLog>;
  /** Lets that many milliseconds pass for the storage, for one that looks for requests to stop now and then. */
  readonly advance?: (ms: number) => void | PromiseLike<void>;
}
