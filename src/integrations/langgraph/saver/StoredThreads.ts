import {
  count,
  type FieldTest,
  like,
  listOf,
  mapOf,
  object,
  optional,
  pair,
  text,
  whole,
} from "../../../checkpoint/format/fieldTests.ts";
import type { StoredValue } from "../../../checkpoint/values/valueCodec.ts";
import { KeptLogs, dropUnread } from "../../../journal/shape/KeptLogs.ts";
import { listShape, ShapeViews } from "../../../journal/shape/readShape.ts";
import { logIdOf, type ShapeDefinition } from "../../../journal/shape/ShapeDefinition.ts";
import type { ShapedLog } from "../../../journal/shape/ShapedLog.ts";
import type { LogStorage } from "../../../storage/PersistenceStorageProvider.ts";
import { isAboutOneAgent } from "../../../storage/summaries.ts";
import type { StoredPut } from "../thread/Checkpoints.ts";
import { type GraphRecord, isMadeAgain, valuesOfRecord, withRecordValues } from "../thread/GraphRecord.ts";
import { restated } from "../thread/restated.ts";
import { ThreadState } from "../thread/ThreadState.ts";
import type { ReadableThread } from "./ThreadReader.ts";

export type OwnedThread = ShapedLog<GraphRecord, ThreadState>;

/** A thread in a list. */
export interface ThreadSummary {
  readonly threadId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** The time of the last change, in ISO 8601. The stored time can be up to one minute too early. */
  readonly updatedAt: string;
}

/** The number of threads whose state is kept in memory for the next read. */
const mostViews = 32;

/** The threads of a storage. Each thread is a log. */
export class StoredThreads implements AsyncDisposable {
  readonly #storage: LogStorage;
  readonly #logs: KeptLogs<GraphRecord, ThreadState>;
  readonly #views: ShapeViews<GraphRecord, ThreadState>;

  constructor(storage: LogStorage) {
    this.#storage = storage;
    this.#views = new ShapeViews(threadShape, storage.log, mostViews);
    this.#logs = new KeptLogs(threadShape, { storage });
  }

  /** Owns a thread while `work` runs. Concurrent calls in this process share the ownership. @throws AgentBusyError */
  use<Result>(threadId: string, work: (thread: OwnedThread) => Promise<Result>): Promise<Result> {
    this.#views.forget(threadId);
    return this.#logs.use(threadId, work);
  }

  /** Owns a thread until the result is disposed. @throws AgentBusyError */
  hold(threadId: string): Promise<AsyncDisposable> {
    return this.#logs.hold(threadId);
  }

  /** Returns whether this process knows that the thread has no checkpoint of the graph in this `namespace`. */
  lacks(threadId: string, namespace: string): boolean {
    return this.#logs.opened(threadId)?.state.namespaces.has(namespace) === false;
  }

  /** Returns the state of a thread without owning it, from the memory of this process or from the storage. */
  async view(threadId: string): Promise<ReadableThread> {
    const open = this.#logs.opened(threadId);
    if (open) {
      await open.durable();
      return open;
    }
    const view = await this.#views.read(threadId);
    return { id: threadId, state: view.state, read: (values) => view.read(values) };
  }

  /** Deletes a thread, even if it cannot be read or an earlier deletion was interrupted. @throws AgentBusyError */
  async drop(threadId: string): Promise<void> {
    try {
      const { state } = await this.view(threadId);
      if (state.namespaces.size > 0) return await this.use(threadId, (thread) => thread.drop());
      if (this.#logs.opened(threadId)) return;
    } catch (error) {
      if (!isAboutOneAgent(error)) throw error;
    }
    await dropUnread(this.#storage.log, logIdOf(threadShape, threadId));
  }

  async *list(options: { readonly limit?: number | undefined } = {}): AsyncGenerator<ThreadSummary> {
    for await (const { id, createdAt, updatedAt } of listShape(threadShape, this.#storage.log, options))
      yield { threadId: id, createdAt, updatedAt };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#logs[Symbol.asyncDispose]();
  }
}

/** Returns a function that converts values to their stored form in a thread. */
export function storeIn(thread: OwnedThread): (value: unknown) => StoredValue {
  return (value) => thread.value(value, "a value of a graph");
}

interface CopiedRecord {
  readonly record: GraphRecord;
  readonly values: readonly unknown[];
}

/** @param last - the last checkpoint to copy. Defaults to the whole thread. */
export async function copiedRecords(thread: ReadableThread, last?: StoredPut): Promise<readonly CopiedRecord[]> {
  // All records are listed before values are read, because the thread can grow during the reads.
  const records = [...restated(thread.state, last?.order)];
  const copied: CopiedRecord[] = [];
  for (const record of records) {
    const isOpen = record.kind === "call" && (!record.end || isMadeAgain(record.end));
    if (!isOpen) copied.push({ record, values: await thread.read(valuesOfRecord(record)) });
  }
  return copied;
}

export function appendCopied(thread: OwnedThread, records: readonly CopiedRecord[]): void {
  for (const { record, values } of records) {
    thread.append([withRecordValues(record, values.map(storeIn(thread)))]);
  }
}

const change = optional(like({ s: optional(object), d: optional(listOf(text)) }));
const item = either(count, (value) => object(value) && Object.hasOwn(value as object, "v"));
const end = like({
  error: optional(text),
  unknown: optional((unknown) => unknown === true),
  lost: optional(like({ path: text, reason: text })),
  settled: optional(text),
});
const segment = either(item, pair, like({ r: pair }));
const entry: FieldTest = (value) => isTuple(value, text, item);

const threadShape: ShapeDefinition<GraphRecord, ThreadState> = {
  name: "thread",
  version: 1,
  records: {
    items: { items: Array.isArray, first: optional(count) },
    put: {
      id: text,
      ns: optional(text),
      n: optional(count),
      from: (from) => from === null || optional(count)(from),
      parent: optional(text),
      ts: text,
      v: optional(whole),
      meta: change,
      versions: change,
      seen: change,
      more: optional(object),
      set: optional(mapOf(graphValue)),
      unset: optional(listOf(text)),
      hidden: optional((hidden) => hidden === true),
    },
    writes: {
      of: either(count, text),
      ns: optional(text),
      task: text,
      path: optional(text),
      w: listOf((write) => isTuple(write, text, graphValue, optional(whole))),
    },
    forget: {
      drop: listOf(count),
      hide: listOf((hidden) => isTuple(hidden, count, listOf(text))),
    },
    call: {
      call: text,
      of: count,
      task: text,
      at: text,
      tool: text,
      effect: text,
      node: text,
      digest: text,
      end: optional(end),
    },
    call_end: { call: text, end },
  },
  values: valuesOfRecord,
  begin: () => new ThreadState(),
};

function graphValue(value: unknown): boolean {
  return either(
    item,
    like({ l: listOf(segment) }),
    like({ m: listOf(entry) }),
    like({ e: (edit) => isTuple(edit, listOf(entry), listOf(text)) }),
    like({ d: graphValue }),
  )(value);
}

function either(...tests: readonly FieldTest[]): FieldTest {
  return (value) => tests.some((test) => test(value));
}

function isTuple(value: unknown, ...tests: readonly FieldTest[]): boolean {
  return Array.isArray(value) && value.length <= tests.length && tests.every((test, at) => test(value[at]));
}
