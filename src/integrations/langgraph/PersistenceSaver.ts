import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  ERROR,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { ToolCallSettlement } from "../../doubt/ToolCallInDoubt.ts";
import { type Telemetry, traced } from "../../telemetry/Telemetry.ts";
import { type ReadableThread, ThreadReader, listedPuts } from "./saver/ThreadReader.ts";
import { AlreadyExistsError } from "../../errors/storageErrors.ts";
import { CheckpointNotFoundError } from "../../errors/checkpointErrors.ts";
import { appendImported, importedTuples } from "./saver/importedTuples.ts";
import { pruneThread } from "./saver/pruneThread.ts";
import { SeenCheckpoints } from "./saver/SeenCheckpoints.ts";
import {
  type OwnedThread,
  StoredThreads,
  type ThreadSummary,
  appendCopied,
  copiedRecords,
  storeIn,
} from "./saver/StoredThreads.ts";
import {
  checkedOptions,
  checkedPruning,
  type PersistenceSaverOptions,
  type ThreadPruneOptions,
  checkedThreadId,
  invalid,
  requiredThread,
  threadConfig,
} from "./saver/saverOptions.ts";
import type { StoredPut } from "./thread/Checkpoints.ts";
import type { ThreadState } from "./thread/ThreadState.ts";
import { CallJournal } from "./tools/CallJournal.ts";
import { lettingThrough } from "./tools/letThrough.ts";
import { WriteOrder, PutsInFlight } from "./write/WriteOrder.ts";
import { RefusedTasks } from "./tools/RefusedTasks.ts";
import { GraphSerializer } from "./values/GraphSerializer.ts";
import { captureCheckpoint, captureWrites, ValueCapture } from "./write/captureCheckpoint.ts";
import {
  type CheckpointPlace,
  checkpointRecords,
  type WrittenRecords,
  writeRecords,
} from "./write/checkpointRecords.ts";
import { KnownItems } from "./write/KnownItems.ts";
import { coderOf, type ValueCoder } from "./write/ValueCoder.ts";

/** A thread id, or a config that selects a checkpoint of a thread. */
export type ThreadSource = string | RunnableConfig;

/**
 * A LangGraph checkpointer on any storage of this library that has a log. Each thread is a log. A checkpoint is stored
 * as the difference to its parent, and each message only once. Only one process at a time can continue a thread.
 *
 * @example
 * ```ts
 * await using checkpointer = new PersistenceSaver({ storage: new FilePersistenceStorageProvider() });
 * const graph = builder.compile({ checkpointer });
 * const config = { configurable: { thread_id: "order-7" }, durability: "sync" as const };
 * await checkpointer.withThread("order-7", () => graph.invoke(input, config));
 * // After a crash:
 * await checkpointer.withThread("order-7", () => graph.invoke(null, config));
 * ```
 */
export class PersistenceSaver extends BaseCheckpointSaver implements AsyncDisposable {
  readonly #threads: StoredThreads;
  readonly #coder: ValueCoder;
  readonly #telemetry: Telemetry | undefined;
  readonly #known: KnownItems | undefined;
  readonly #seen = new SeenCheckpoints();
  readonly #order = new WriteOrder();
  readonly #puts = new PutsInFlight();
  readonly #refused = new RefusedTasks();
  readonly #calls: CallJournal;

  /** @throws InvalidInputError for invalid options @throws NotSupportedError for a storage without a log */
  constructor(options: PersistenceSaverOptions) {
    const checked = checkedOptions(options);
    const { storage, serde = new GraphSerializer(), compare, telemetry, onToolCallInDoubt = "ask" } = checked;
    super(serde);
    this.#threads = new StoredThreads(storage);
    this.#coder = coderOf(serde);
    this.#telemetry = telemetry;
    this.#known = compare === "deep" ? undefined : new KnownItems();
    this.#calls = new CallJournal({
      checkpointer: this,
      storage,
      threads: this.#threads,
      coder: this.#coder,
      puts: this.#puts,
      seen: this.#seen,
      refused: this.#refused,
      onToolCallInDoubt,
      telemetry,
    });
  }

  /** Returns the checkpoint that the config names, and by default the last stored checkpoint of the thread. */
  override getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    return lettingThrough(async () => {
      const { threadId, namespace = "", checkpointId } = threadConfig(config);
      if (threadId === undefined) return undefined;
      this.#refused.read(threadId, namespace);
      // A subgraph can start before the checkpoint of its parent is durable.
      if (namespace !== "" && this.#threads.lacks(threadId, namespace)) return undefined;
      const reader = await this.#reader(threadId);
      const put = this.#find(reader.thread, { namespace, id: checkpointId });
      if (!put) return undefined;
      this.#seen.read(threadId, reader.thread.state, put);
      return this.#tuple(reader, put);
    });
  }

  /** Lists the checkpoints of a thread, or of all threads without a `thread_id`. The last stored one is first. */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { namespace, ...wanted } = threadConfig(config);
    const checkpointId = config.configurable?.["checkpoint_id"] === undefined ? undefined : wanted.checkpointId;
    const { limit = Infinity, before, filter = {} } = options;
    let left = limit;
    for await (const threadId of this.#threadIds(wanted.threadId)) {
      const reader = await this.#reader(threadId);
      const range = { namespace, checkpointId, before: before && threadConfig(before).checkpointId };
      for (const put of listedPuts(reader.thread.state, range)) {
        if (left <= 0) return;
        const tuple = await this.#listed(reader, put, filter);
        if (!tuple) continue;
        left--;
        yield tuple;
      }
    }
  }

  /**
   * Stores a checkpoint as a child of the checkpoint that the config names. The checkpoint is durable when the promise
   * resolves. If the call rejects, the checkpoint was not stored.
   *
   * @throws NotSerializableError if a value could not be restored
   * @throws ThreadChangedError if the thread was deleted or continued by another process
   * @throws AgentBusyError while another process owns the thread
   */
  override put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    return lettingThrough(async () => {
      const given = threadConfig(config);
      const threadId = requiredThread(given, "a checkpoint");
      const place = { namespace: given.namespace ?? "", id: given.checkpointId };
      const capture = (values: ValueCapture) => captureCheckpoint(values, checkpoint, metadata, newVersions);
      const save = { kind: "save", agentId: threadId, checkpointId: checkpoint.id } as const;
      const write = (): Promise<void> =>
        this.#write(threadId, capture, (thread, captured) => {
          const { source } = captured;
          // The parent of a copy is possibly pruned, but a copy needs no parent.
          if (source !== "fork" || !thread.state.namespaces.has(place.namespace))
            this.#seen.assertThere(threadId, thread.state, place);
          this.#refused.assertNone(threadId, place);
          if (source === "loop" || source === "input") this.#seen.assertHead(threadId, thread.state, place);
          const written = checkpointRecords(thread.state, storeIn(thread), place, captured);
          return { written, stored: () => this.#seen.stored(threadId, thread.state, place.namespace, captured.id) };
        });
      await this.#puts.track(
        threadId,
        traced(this.#telemetry, () => save, write),
      );
      return { configurable: { thread_id: threadId, checkpoint_ns: place.namespace, checkpoint_id: checkpoint.id } };
    });
  }

  /**
   * Stores the writes of a task, which follow a checkpoint. The writes are durable when the promise resolves.
   *
   * @throws the errors of {@link put}
   */
  override putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath: string = "",
  ): Promise<void> {
    return lettingThrough(async () => {
      const given = threadConfig(config);
      const threadId = requiredThread(given, "writes");
      if (given.checkpointId === undefined) throw invalid("checkpoint_id", "the checkpoint that the task follows");
      const place = { namespace: given.namespace ?? "", id: given.checkpointId };
      const task = { id: taskId, path: taskPath };
      const capture = (values: ValueCapture) => captureWrites(values, writes, taskId);
      if (writes.some(([channel]) => channel === ERROR)) this.#refused.failed(threadId, taskId);
      await this.#write(threadId, capture, (thread, captured) => {
        this.#seen.assertThere(threadId, thread.state, place);
        const isOutcome = captured.some(({ index }) => index >= 0);
        if (isOutcome) this.#refused.assertNone(threadId, place, taskId);
        return { written: writeRecords(thread.state, storeIn(thread), place, task, captured) };
      });
    });
  }

  /**
   * Deletes a thread, even if it is damaged or its key is missing. A graph that still runs can store no more.
   *
   * @throws AgentBusyError while another process owns the thread
   */
  override async deleteThread(threadId: string): Promise<void> {
    const id = checkedThreadId(threadId);
    this.#seen.deleted(id);
    await this.#threads.drop(id);
  }

  /** Returns the earlier values and writes of delta channels, from the ancestors of a checkpoint. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { threadId, namespace = "", checkpointId } = threadConfig(options.config);
    const nothing = Object.fromEntries(options.channels.map((channel) => [channel, { writes: [] }]));
    if (threadId === undefined || options.channels.length === 0) return nothing;
    const reader = await this.#reader(threadId);
    const put = this.#find(reader.thread, { namespace, id: checkpointId });
    return put ? reader.deltaHistory(put, options.channels) : nothing;
  }

  /**
   * Owns a thread while `work` runs, such as one `graph.invoke`. Other processes cannot continue the thread.
   *
   * @throws AgentBusyError while another process owns the thread
   */
  async withThread<Result>(threadId: string, work: () => Promise<Result>): Promise<Result> {
    await using _held = await this.#threads.hold(checkedThreadId(threadId));
    return await work();
  }

  /**
   * Settles a call of a durable tool that is in doubt. The next run continues with this durable outcome.
   *
   * @param toolCallId the id from ToolCallInDoubtError
   * @throws ToolCallNotInDoubtError, InvalidInputError, NotSerializableError, AgentBusyError
   */
  settleToolCall(threadId: string, toolCallId: string, settlement: ToolCallSettlement): Promise<void> {
    return this.#calls.settle(checkedThreadId(threadId), toolCallId, settlement);
  }

  /**
   * Removes old checkpoints of a thread and frees their storage. Other checkpoints keep their values.
   *
   * @returns the number of bytes freed
   * @throws AgentBusyError, InvalidInputError
   */
  async prune(threadId: string, options: ThreadPruneOptions): Promise<{ readonly bytes: number }> {
    const { keep } = checkedPruning(options);
    const id = checkedThreadId(threadId);
    return traced(
      this.#telemetry,
      () => ({ kind: "prune", agentId: id }),
      async (span) => {
        const { bytes, checkpoints } = await this.#threads.use(id, (thread) => pruneThread(thread, keep));
        span.add({ prunedBytes: bytes, prunedCheckpoints: checkpoints });
        return { bytes };
      },
    );
  }

  /**
   * Copies a thread, by default with all its checkpoints, or up to an earlier checkpoint.
   *
   * @param source a thread id, or a config with `thread_id` and optionally the `checkpoint_id` to copy up to
   * @returns the config of the copy
   * @throws AlreadyExistsError (`thread_exists`) if the new id is in use
   * @throws CheckpointNotFoundError
   */
  async copyThread(source: ThreadSource, threadId: string): Promise<{ configurable: { thread_id: string } }> {
    const from = threadConfig(typeof source === "string" ? { configurable: { thread_id: source } } : source);
    const { thread } = await this.#reader(requiredThread(from, "the thread to copy"));
    const until = this.#find(thread, { namespace: from.namespace ?? "", id: from.checkpointId });
    if (!until) throw new CheckpointNotFoundError(thread.id, from.checkpointId, shownIds(thread.state, from.namespace));
    const isWhole = from.checkpointId === undefined || until === thread.state.latest("");
    const records = await copiedRecords(thread, isWhole ? undefined : until);
    await this.#create(threadId, (copy) => appendCopied(copy, records));
    return { configurable: { thread_id: threadId } };
  }

  /**
   * Imports a thread with all checkpoints from another LangGraph checkpointer.
   *
   * @param as the id of the imported thread. Defaults to the same id.
   * @throws AlreadyExistsError (`thread_exists`) if the id is in use
   * @throws NotSerializableError
   */
  async importThread(saver: BaseCheckpointSaver, threadId: string, as: string = threadId): Promise<void> {
    const capture = new ValueCapture(checkedThreadId(as), this.#coder, undefined);
    const tuples = await importedTuples(capture, saver, checkedThreadId(threadId));
    await capture.settled;
    await this.#create(as, (thread) => appendImported(thread, tuples));
  }

  /** Lists the threads of the storage. The last changed thread is first. */
  async *threads(options: { readonly limit?: number } = {}): AsyncGenerator<ThreadSummary> {
    yield* this.#threads.list(options);
  }

  /** Releases all threads. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#threads[Symbol.asyncDispose]();
  }

  /** Captures values at once. If a deletion or pruning removed a blob that the values reuse, captures them again. */
  async #write<Captured>(
    threadId: string,
    capture: (values: ValueCapture) => Captured,
    make: (
      thread: OwnedThread,
      captured: Captured,
    ) => { readonly written: WrittenRecords; readonly stored?: () => void },
  ): Promise<void> {
    const values = new ValueCapture(threadId, this.#coder, this.#known);
    const captured = capture(values);
    const recaptured = async (): Promise<Captured> => {
      const whole = new ValueCapture(threadId, this.#coder, undefined);
      const again = capture(whole);
      await whole.settled;
      return again;
    };
    const write = async (thread: OwnedThread): Promise<void> => {
      const whole = values.lacksBlob(thread.state) ? await recaptured() : captured;
      const { written, stored } = make(thread, whole);
      if (written.records.length > 0) thread.append(written.records);
      if (this.#known) written.writer.remember(thread.id, this.#known);
      stored?.();
      await thread.durable();
    };
    await this.#order.write(threadId, values.settled, () => this.#threads.use(threadId, write));
  }

  /** Appends all records in one turn of the event loop, so that they are stored together. */
  async #create(threadId: string, append: (thread: OwnedThread) => void): Promise<void> {
    await this.#threads.use(checkedThreadId(threadId), async (thread) => {
      if (thread.state.namespaces.size > 0) throw new AlreadyExistsError("thread_exists", threadId);
      append(thread);
      await thread.durable();
    });
  }

  async #reader(threadId: string): Promise<ThreadReader> {
    const thread = await this.#threads.view(threadId);
    if (thread.state.namespaces.size === 0) this.#seen.empty(threadId);
    return new ThreadReader(thread, this.#coder, this.#known);
  }

  #find({ state }: ReadableThread, { namespace, id }: CheckpointPlace): StoredPut | undefined {
    return id === undefined ? state.latest(namespace) : state.put(namespace, id);
  }

  /** Returns `undefined` if the metadata does not match the filter. */
  async #listed(reader: ThreadReader, put: StoredPut, filter: object): Promise<CheckpointTuple | undefined> {
    if (!(await reader.fits(put, filter))) return undefined;
    // LangGraph lists the checkpoints of a subgraph in order to continue from one of them.
    if (put.entry.namespace !== "") this.#seen.read(reader.thread.id, reader.thread.state, put);
    return this.#tuple(reader, put);
  }

  /** Returns `undefined` if a pruning or deletion removes the checkpoint during the read. */
  async #tuple(reader: ThreadReader, put: StoredPut): Promise<CheckpointTuple | undefined> {
    try {
      return await reader.tuple(put);
    } catch (error) {
      const { state } = await this.#threads.view(reader.thread.id);
      if (state.put(put.entry.namespace, put.entry.id)) throw error;
      return undefined;
    }
  }

  async *#threadIds(threadId: string | undefined): AsyncGenerator<string> {
    if (threadId !== undefined) yield threadId;
    else for await (const { threadId: each } of this.#threads.list()) yield each;
  }
}

function shownIds({ namespaces }: ThreadState, namespace = ""): readonly string[] {
  return (namespaces.get(namespace)?.stored ?? []).flatMap(({ id, put }) => (put?.hidden ? [] : [id]));
}
