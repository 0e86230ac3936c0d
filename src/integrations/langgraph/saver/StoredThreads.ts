import { KeptLogs } from "../../../journal/shape/KeptLogs.ts";
import { listShape } from "../../../journal/shape/listShape.ts";
import { readShape, type ShapeView } from "../../../journal/shape/readShape.ts";
import type { ShapedLog } from "../../../journal/shape/ShapedLog.ts";
import type { LogStorage } from "../../../storage/LogStorage.ts";
import type { ReadableThread } from "../read/ThreadReader.ts";
import type { GraphRecord } from "../thread/GraphRecord.ts";
import { threadShape } from "../thread/threadShape.ts";
import type { ThreadState } from "../thread/ThreadState.ts";

/** A thread that this process owns. */
export type OwnedThread = ShapedLog<GraphRecord, ThreadState>;

/** A thread in a list. */
export interface ThreadSummary {
  readonly threadId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601: when it last changed, or up to a minute earlier. */
  readonly updatedAt: string;
}

/** What was read of so many threads is kept: the next reading continues from there. */
const mostViews = 32;

/** The threads of a storage, each a log. */
export class StoredThreads implements AsyncDisposable {
  readonly #storage: LogStorage;
  readonly #logs: KeptLogs<GraphRecord, ThreadState>;
  readonly #views = new Map<string, ShapeView<GraphRecord, ThreadState>>();

  constructor(storage: LogStorage) {
    this.#storage = storage;
    this.#logs = new KeptLogs(threadShape, { storage });
  }

  /** Owns a thread while the work goes on, together with other work of this process. @throws AgentBusyError */
  use<Result>(threadId: string, work: (thread: OwnedThread) => Promise<Result>): Promise<Result> {
    this.#views.delete(threadId);
    return this.#logs.use(threadId, work);
  }

  /** Owns a thread until what it resolves to is disposed of. @throws AgentBusyError */
  hold(threadId: string): Promise<AsyncDisposable> {
    return this.#logs.hold(threadId);
  }

  /** Whether this process has the thread open, and the thread has no such graph. */
  lacks(threadId: string, namespace: string): boolean {
    return this.#logs.opened(threadId)?.state.namespaces.has(namespace) === false;
  }

  /** A thread with all that this process, or else the storage, has of it. Owns nothing. */
  async view(threadId: string): Promise<ReadableThread> {
    const open = this.#logs.opened(threadId);
    if (open) {
      await open.durable();
      return open;
    }
    const known = this.#views.get(threadId);
    // Nobody may use it while it grows.
    this.#views.delete(threadId);
    const view = await readShape(threadShape, { log: this.#storage.log, id: threadId }, known);
    this.#views.set(threadId, view);
    for (const oldest of this.#views.keys()) {
      if (this.#views.size <= mostViews) break;
      this.#views.delete(oldest);
    }
    return { id: threadId, state: view.state, read: (values) => view.read(values) };
  }

  /** Those that changed last first. */
  async *list(options: { readonly limit?: number | undefined } = {}): AsyncGenerator<ThreadSummary> {
    for await (const { id, createdAt, updatedAt } of listShape(threadShape, this.#storage.log, options))
      yield { threadId: id, createdAt, updatedAt };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#logs[Symbol.asyncDispose]();
  }
}
