import type { Entry, LogRecord } from "../../../checkpoint/records/Entry.ts";
import { nextTurn } from "../../../internal/nextTurn.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogOwner,
  LogWatch,
  NewAgent,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../../../storage/RecordLog.ts";
import type { LogTable } from "../../../storage/table/LogTable.ts";
import type { TableRecordLog } from "../../../storage/table/TableRecordLog.ts";
import {
  type ConformanceTest,
  defineConformanceTest,
  type Expectations,
  type LeftOut,
  type LeftOutParts,
} from "../../support/Expectations.ts";
import { checkLogHarness, noAlterBlob, type RecordLogHarness } from "./RecordLogHarness.ts";

/** A conformance test of a `RecordLog`. */
export type RecordLogTest = ConformanceTest<RecordLogHarness>;

export function logTest(
  name: string,
  body: (storage: RecordLogUnderTest, expect: Expectations) => Promise<void>,
): RecordLogTest {
  return defineConformanceTest(name, (made: RecordLogHarness, leftOut) => new RecordLogUnderTest(made, leftOut), body);
}

/** The maximum number of polls. The storage's time advances by one second between polls. */
const looks = 500;
/** The number of polls before the time advances, for immediate actions of the storage. */
const looksAtOnce = 20;

type ReceiveArguments =
  Parameters<NonNullable<RecordLog["receive"]>> extends readonly [string, LogOwner, ...infer Rest] ? Rest : never;

/** The log under test, with helpers. A helper ends the test if the storage lacks the required ability. */
export class RecordLogUnderTest {
  readonly #harness: RecordLogHarness;
  readonly #leftOut: LeftOutParts;
  log: RecordLog;
  #owners = 0;

  constructor(made: RecordLogHarness, leftOut: LeftOutParts) {
    checkLogHarness(made);
    this.#harness = made;
    this.#leftOut = leftOut;
    this.log = made.log;
  }

  nextOwner(): LogOwner {
    return { host: "conformance", processId: 1, nonce: `owner ${++this.#owners}` };
  }

  open(agentId: string): Promise<OwnedLog> {
    return this.log.open(agentId, this.nextOwner());
  }

  async own<Result>(agentId: string, action: (owned: OwnedLog) => Promise<Result>): Promise<Result> {
    const owned = await this.open(agentId);
    const result = await action(owned);
    await owned.release();
    return result;
  }

  /** Continues with another instance on the same data, if the harness supports it. All owners must be released. */
  async reopen(): Promise<void> {
    const { reopen } = this.#harness;
    if (typeof reopen === "function") this.log = await reopen();
    else this.#leftOut.add("reopen", reopen);
  }

  /** Returns a second instance, if the storage supports several processes. */
  async beside(): Promise<RecordLog> {
    if (this.log.capabilities.processes === "many") return this.#can("reopen")();
    return this.#leftOut.end("a second process", { leftOut: 'capabilities.processes is "one"' });
  }

  get table(): LogTable {
    const { table } = this.log as Partial<Pick<TableRecordLog, "table">>;
    return table ?? this.#leftOut.end("a table", { leftOut: "the log is not over a LogTable" });
  }

  /**
   * Silences an owner and returns an instance that observes the owner: a second instance, if the storage supports this.
   */
  async silence(agentId: string, owned: OwnedLog, expect: Expectations): Promise<RecordLog> {
    const silence = this.#can("silence");
    await silence(owned);
    const seeing = this.log.capabilities.processes === "many" ? await this.beside() : this.log;
    let state: string | undefined = "alive";
    for (let look = 0; look < looks && state === "alive"; look++) {
      state = (await seeing.owner(agentId))?.state;
      if (state === "alive") await this.#advance(1_000);
    }
    expect.isTrue("the state of an owner that is silent", state !== "alive", '"silent" or "gone"', state);
    return seeing;
  }

  /** Ends the test if the library filters the lists of this log. */
  assertNarrows(): void {
    const { narrows } = this.log.capabilities;
    if (narrows !== true) this.#leftOut.end("narrows", { leftOut: "capabilities.narrows is not true" });
  }

  async alter(agentId: string, position: number): Promise<void> {
    await this.#can("alter")(agentId, position);
  }

  async alterBlob(agentId: string, reference: string): Promise<void> {
    const { alterBlob = noAlterBlob } = this.#harness;
    if (typeof alterBlob !== "function") this.#leftOut.end("alterBlob", alterBlob);
    await alterBlob(agentId, reference);
  }

  async loseAnswer(): Promise<void> {
    await this.#can("loseAnswer")();
  }

  async unremovedBytes(agentId: string): Promise<number> {
    if (this.log.unremovedBytes) return this.log.unremovedBytes(agentId);
    return this.#leftOut.end("unremovedBytes", { leftOut: "the log has no such method" });
  }

  async lines(agentId: string, options?: { readonly upTo?: number }): Promise<Uint8Array[]> {
    if (this.log.encodedAppends) return collect(this.log.encodedAppends(agentId, options));
    return this.#leftOut.end("encodedAppends", { leftOut: "the log has no such method" });
  }

  async receive(agentId: string, ...[received, last]: ReceiveArguments): Promise<OwnedLog> {
    if (this.log.receive) return this.log.receive(agentId, this.nextOwner(), received, last);
    return this.#leftOut.end("receive", { leftOut: "the log has no such method" });
  }

  async createMany(agents: readonly NewAgent[]): Promise<readonly (boolean | Error)[]> {
    if (this.log.createMany) return this.log.createMany(agents);
    return this.#leftOut.end("createMany", { leftOut: "the log has no such method" });
  }

  async copyBlob(from: string, reference: string, to: string): Promise<boolean> {
    const { blobs } = this.log;
    if (blobs.copy) return blobs.copy(from, reference, to);
    return this.#leftOut.end("blobs.copy", { leftOut: "the log has no such method" });
  }

  /** Advances the time by one second at a time. */
  async wait(agentId: string, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.#can("advance")(1_000);
      await this.#turn(agentId);
    }
  }

  /** Opens the log when it is free, with the limits of {@link settle}. */
  async openWhenFree(agentId: string): Promise<OwnedLog> {
    for (let look = 0; look < looks; look++) {
      try {
        return await this.open(agentId);
      } catch (error) {
        if ((error as { readonly code?: unknown }).code !== "agent_busy") throw error;
      }
      await this.#advance(1_000);
      await nextTurn();
    }
    return this.open(agentId);
  }

  /** Returns the outcome of a call while the storage's time advances, because the call may wait between retries. */
  async settle<Result>(agentId: string, call: () => Promise<Result>): Promise<PromiseSettledResult<Result>> {
    let ended = false;
    const outcome = Promise.allSettled([call()]).finally(() => (ended = true));
    for (let look = 0; look < looks && !ended; look++) {
      if (look >= looksAtOnce) await this.#advance(1_000);
      await this.#turn(agentId);
    }
    const [settled] = await outcome;
    return settled;
  }

  async entries(agentId: string, options?: ReadOptions): Promise<Entry[]> {
    return collect(this.log.read(agentId, options));
  }

  async positions(agentId: string, options?: ReadOptions): Promise<number[]> {
    return this.fields(agentId, "position", options);
  }

  async fields<Key extends keyof Entry>(agentId: string, key: Key, options?: ReadOptions): Promise<Entry[Key][]> {
    return (await this.entries(agentId, options)).map((entry) => entry[key]);
  }

  async list(options?: ListOptions): Promise<AgentSummary[]> {
    return collect(this.log.list(options));
  }

  async listOrders(options?: ListOptions): Promise<string[]> {
    return (await this.list(options)).map(({ order }) => order);
  }

  async listIds(options?: ListOptions): Promise<string[]> {
    return (await this.list(options)).map(({ agentId }) => agentId);
  }

  async expectTexts(agentId: string, texts: readonly string[], expect: Expectations): Promise<void> {
    const name = JSON.stringify(agentId.length > 40 ? `${agentId.slice(0, 40)}…` : agentId);
    const expected = texts.map((text) => [exampleRecord(text)]);
    expect.equal(`the records of agent ${name}`, await this.fields(agentId, "records"), expected);
  }

  /** Waits until the signal is aborted, with the limits of {@link happened}. */
  aborted(agentId: string, signal: AbortSignal): Promise<boolean> {
    return this.happened(agentId, () => signal.aborted);
  }

  async watch(onChange: () => void): Promise<LogWatch> {
    if (this.log.watch) return this.log.watch(onChange);
    return this.#leftOut.end("watch", { leftOut: "the log has no such method" });
  }

  /** Polls a condition for a limited number of turns and seconds of the storage. */
  async happened(agentId: string, has: () => boolean): Promise<boolean> {
    for (let look = 0; look < looks && !has(); look++) {
      await this.#advance(1_000);
      await this.#turn(agentId);
    }
    return has();
  }

  /** Lets real time pass by calling the storage, because background work of the storage takes real time. */
  async #turn(agentId: string): Promise<void> {
    await this.log.owner(agentId);
    await nextTurn();
  }

  async #advance(ms: number): Promise<void> {
    const { advance } = this.#harness;
    if (typeof advance === "function") await advance(ms);
  }

  /** Returns a control of the harness, or ends the test if it is left out. */
  #can<Member extends "reopen" | "advance" | "silence" | "alter" | "loseAnswer">(
    member: Member,
  ): Exclude<RecordLogHarness[Member], LeftOut> {
    const found: RecordLogHarness[Member] = this.#harness[member];
    if (typeof found === "function") return found as Exclude<RecordLogHarness[Member], LeftOut>;
    return this.#leftOut.end(member, found);
  }
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Returns a record with a value. Storages treat all kinds except `pruned` as opaque JSON. */
export function exampleRecord(value: unknown): LogRecord {
  const record = { kind: "example", value };
  return record;
}

/** Returns a summary with all fields that a storage must preserve. `more` overrides fields. */
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

export function appendText(owned: OwnedLog, text: string, more: Partial<LogAppend> = {}): Promise<number> {
  const append = { id: `${owned.generation}-${owned.position + 1}`, records: [exampleRecord(text)], ...more };
  return owned.append(append, owned.position);
}
