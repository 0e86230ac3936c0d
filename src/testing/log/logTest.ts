import type { Entry, LogRecord } from "../../checkpoint/records/Entry.ts";
import { nextTurn } from "../../internal/nextTurn.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogOwner,
  LogWatch,
  OwnedLog,
  ReadOptions,
  RecordLog,
} from "../../storage/RecordLog.ts";
import type { LogTable } from "../../storage/table/LogTable.ts";
import type { TableRecordLog } from "../../storage/table/TableRecordLog.ts";
import { type ConformanceTest, defineConformanceTest, type Expectations } from "../support/Expectations.ts";
import type { LeftOut, LeftOutParts } from "../support/LeftOut.ts";
import { checkLogHarness, noAlterBlob, type RecordLogHarness } from "./RecordLogHarness.ts";

/** A test of a log. */
export type RecordLogTest = ConformanceTest<RecordLogHarness>;

/** One test of a log; a fresh one is made for it. */
export function logTest(
  name: string,
  body: (storage: RecordLogUnderTest, expect: Expectations) => Promise<void>,
): RecordLogTest {
  return defineConformanceTest(name, (made: RecordLogHarness, leftOut) => new RecordLogUnderTest(made, leftOut), body);
}

/** How often the suite looks whether something has happened, a second of the storage's time apart. */
const looks = 500;
/** How many of them go by before time passes, for what the storage does at once. */
const looksAtOnce = 20;

type ReceiveArguments =
  Parameters<NonNullable<RecordLog["receive"]>> extends readonly [string, LogOwner, ...infer Rest] ? Rest : never;

/** A log as the tests use it. */
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

  /** Opens, does something and releases. */
  async own<Result>(agentId: string, action: (owned: OwnedLog) => Promise<Result>): Promise<Result> {
    const owned = await this.open(agentId);
    const result = await action(owned);
    await owned.release();
    return result;
  }

  /** Continues with another instance on the same data, if there can be one; every owner has been released before. */
  async reopen(): Promise<void> {
    const { reopen } = this.#harness;
    if (typeof reopen === "function") this.log = await reopen();
    else this.#leftOut.add("reopen", reopen);
  }

  /** A second instance beside the first, where the storage takes two processes. Ends the test where it does not. */
  async beside(): Promise<RecordLog> {
    if (this.log.capabilities.processes === "many") return this.#can("reopen")();
    return this.#leftOut.end("a second process", { leftOut: 'capabilities.processes is "one"' });
  }

  /** The table under the log. Ends the test where there is none. */
  get table(): LogTable {
    const { table } = this.log as Partial<Pick<TableRecordLog, "table">>;
    return table ?? this.#leftOut.end("a table", { leftOut: "the log is not over a LogTable" });
  }

  /** Makes an owner silent, and gives an instance that sees it so: a second one, where the storage takes two processes. */
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

  /** Ends the test where the log leaves the selecting to the library. */
  assertNarrows(): void {
    const { narrows } = this.log.capabilities;
    if (narrows !== true) this.#leftOut.end("narrows", { leftOut: "capabilities.narrows is not true" });
  }

  /** Changes a stored byte of an append. */
  async alter(agentId: string, position: number): Promise<void> {
    await this.#can("alter")(agentId, position);
  }

  /** Changes a stored byte of a blob. */
  async alterBlob(agentId: string, reference: string): Promise<void> {
    const { alterBlob = noAlterBlob } = this.#harness;
    if (typeof alterBlob !== "function") this.#leftOut.end("alterBlob", alterBlob);
    await alterBlob(agentId, reference);
  }

  /** Lets the answer to the next write be an error. */
  async loseAnswer(): Promise<void> {
    await this.#can("loseAnswer")();
  }

  /** How many bytes are there of appends that were taken out. Ends the test where the log cannot tell. */
  async unremovedBytes(agentId: string): Promise<number> {
    if (this.log.unremovedBytes) return this.log.unremovedBytes(agentId);
    return this.#leftOut.end("unremovedBytes", { leftOut: "the log has no such method" });
  }

  /** The lines of an agent. Ends the test where the log gives none. */
  async lines(agentId: string, options?: { readonly upTo?: number }): Promise<Uint8Array[]> {
    if (this.log.lines) return collect(this.log.lines(agentId, options));
    return this.#leftOut.end("lines", { leftOut: "the log has no such method" });
  }

  /** Makes an agent of lines. Ends the test where the log takes none. */
  async receive(agentId: string, ...[received, last]: ReceiveArguments): Promise<OwnedLog> {
    if (this.log.receive) return this.log.receive(agentId, this.nextOwner(), received, last);
    return this.#leftOut.end("receive", { leftOut: "the log has no such method" });
  }

  /** Gives a blob to another agent. Ends the test where the log cannot. */
  async copyBlob(from: string, reference: string, to: string): Promise<boolean> {
    const { blobs } = this.log;
    if (blobs.copy) return blobs.copy(from, reference, to);
    return this.#leftOut.end("blobs.copy", { leftOut: "the log has no such method" });
  }

  /** Lets seconds pass one after another. Ends the test where no clock can be moved. */
  async wait(agentId: string, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.#can("advance")(1_000);
      await this.#turn(agentId);
    }
  }

  /** Opens as soon as no other owner is in the way, within the bounds of {@link settle}. */
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

  /** How a call ends, while the storage's time passes: it may wait before it tries again. */
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

  /** One field of each entry. */
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

  /** Expects an agent to have appends of one record with these texts, and no others. */
  async expectTexts(agentId: string, texts: readonly string[], expect: Expectations): Promise<void> {
    const name = JSON.stringify(agentId.length > 40 ? `${agentId.slice(0, 40)}…` : agentId);
    const expected = texts.map((text) => [exampleRecord(text)]);
    expect.equal(`the records of agent ${name}`, await this.fields(agentId, "records"), expected);
  }

  /** Waits until the signal is aborted, as {@link happened}. */
  aborted(agentId: string, signal: AbortSignal): Promise<boolean> {
    return this.happened(agentId, () => signal.aborted);
  }

  /** Watches the log. Ends the test where the log tells nothing. */
  async watch(onChange: () => void): Promise<LogWatch> {
    if (this.log.watch) return this.log.watch(onChange);
    return this.#leftOut.end("watch", { leftOut: "the log has no such method" });
  }

  /** Waits until something has happened, for a bounded number of turns and of the storage's seconds. */
  async happened(agentId: string, has: () => boolean): Promise<boolean> {
    for (let look = 0; look < looks && !has(); look++) {
      await this.#advance(1_000);
      await this.#turn(agentId);
    }
    return has();
  }

  /** What the storage does in the meantime takes real time, and so does this. */
  async #turn(agentId: string): Promise<void> {
    await this.log.owner(agentId);
    await nextTurn();
  }

  async #advance(ms: number): Promise<void> {
    const { advance } = this.#harness;
    if (typeof advance === "function") await advance(ms);
  }

  /** What the harness can do. Ends the test where it cannot. */
  #can<Member extends "reopen" | "advance" | "silence" | "alter" | "loseAnswer">(
    member: Member,
  ): Exclude<RecordLogHarness[Member], LeftOut> {
    const found: RecordLogHarness[Member] = this.#harness[member];
    if (typeof found === "function") return found as Exclude<RecordLogHarness[Member], LeftOut>;
    return this.#leftOut.end(member, found);
  }
}

/** Everything that is iterated over. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
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
