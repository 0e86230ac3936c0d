import type { RunDelta } from "../../agent/feature/RunRequest.ts";
import { Bell } from "../../internal/Bell.ts";
import { systemClock } from "../../internal/Clock.ts";
import { addNewest } from "../../internal/deleteOldest.ts";
import { abortable, onAbort, withinTime } from "../../internal/abortable.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  integerFrom,
  nonEmptyString,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import { type StreamEntry, type StreamPlace, type StreamStore, localReaders } from "../store/StreamStore.ts";
import { parseChunk, type StoredChunk } from "../write/StreamWriter.ts";
import { type LogItem, type StoredResponse, StoredResponses } from "./StoredResponses.ts";
import { StreamCursor, type TextKind } from "./StreamCursor.ts";
import { z } from "zod";
import { reasonOf } from "../../internal/reasonOf.ts";
import { warn } from "../../internal/warn.ts";

/**
 * A part of a response, in the form of {@link RunDelta}. `restart` means that the earlier parts of the response are
 * invalid, because the request is made again after a failure or a crash.
 */
export type StreamChunk = RunDelta & {
  /**
   * The position of the client after this chunk, for the option `after`. It can be the `id` of a server-sent event.
   * Each incomplete response adds about 80 bytes, so with more than 150 parallel branches a position can be too long
   * for a header.
   */
  readonly position: string;
};

/** Options of `attach`. */
export interface AttachStreamOptions {
  /** The position of the last chunk that the client has received. Defaults to the start of the run in progress. */
  readonly after?: string | undefined;
  /**
   * Waits until this run starts. If the run is the newest, it is shown even after its end. An earlier run is not shown.
   */
  readonly runId?: string | undefined;
  /** Ends the iteration when aborted, even if the store or the storage does not respond. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The interval of polls for new chunks, in milliseconds. Defaults to 100. During a silence, the interval grows to a
   * tenth of the silence, and at most to ten times this value. Chunks of this process, and of a store that can notify,
   * are seen at once.
   */
  readonly pollMs?: number | undefined;
  /**
   * How long a call of the store may take, in milliseconds. Defaults to 5,000. After this time, clients get responses
   * from the log.
   */
  readonly storeTimeoutMs?: number | undefined;
}

/** Where the streams and the logs of agents are. */
export interface StreamSource {
  /** The storage of the agents. */
  readonly storage: PersistenceStorageProvider;
  readonly store: StreamStore;
}

export const streamStoreSchema: z.ZodType<StreamStore> = objectWithMethods<StreamStore>("append", "read", "remove");
const sourceSchema = strictOptions(() => ({ storage: providerSchema, store: streamStoreSchema }));
const optionsSchema = strictOptions(() => ({
  after: z.string().optional(),
  runId: nonEmptyString.optional(),
  signal: abortSignalSchema.optional(),
  pollMs: integerFrom(1).optional(),
  storeTimeoutMs: integerFrom(1).optional(),
}));

/**
 * Yields the responses of the run in progress, in any process: first the chunks that the client has missed, then each
 * new chunk when it is stored. Ends when the run ends or waits. If no run is in progress, waits for the run `runId`, or
 * yields the responses after the position `after`.
 *
 * @throws InvalidAgentIdError, InvalidInputError, and the errors of the storage
 */
export function attachStream(
  source: StreamSource,
  agentId: string,
  options: AttachStreamOptions = {},
): AsyncGenerator<StreamChunk, void, undefined> {
  checkSchema(sourceSchema, source, "source of a stream");
  assertAgentId(agentId);
  checkSchema(optionsSchema, options, "options of attach()");
  const cursor = options.after === undefined ? undefined : StreamCursor.parse(options.after);
  return new StreamFollower(source, agentId, options, cursor).follow();
}

class StreamFollower {
  readonly #store: StreamStore;
  readonly #agentId: string;
  readonly #options: AttachStreamOptions;
  readonly #signal: AbortSignal;
  readonly #responses: StoredResponses;
  /** Whether the client has a position. */
  readonly #continues: boolean;
  readonly #cursor: StreamCursor;
  /** Whether the run to show has started. */
  #begins = false;
  /** The id of the run in progress. The iteration ends when another run starts. */
  #run: string | undefined;

  constructor(
    { storage, store }: StreamSource,
    agentId: string,
    options: AttachStreamOptions,
    cursor: StreamCursor | undefined,
  ) {
    this.#store = store;
    this.#agentId = agentId;
    this.#options = options;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#responses = new StoredResponses(logStorageOf(storage).log, agentId);
    this.#continues = cursor !== undefined;
    this.#cursor = cursor ?? new StreamCursor();
  }

  async *follow(): AsyncGenerator<StreamChunk, void, undefined> {
    const changes = changesOf(this.#store, this.#agentId, this.#options);
    try {
      while (!this.#signal.aborted) {
        const waits = this.#waits;
        // Chunks are removed after their response is in the log, so the log must be read after the store.
        const entries = waits ? [] : await this.#readStore();
        const isRead = await abortable(this.#signal, () => this.#readLog());
        if (yield* this.#news(entries)) return yield* this.#discardOpen();
        if (waits === this.#waits) await changes.next(isRead || entries.length > 0);
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      changes.end();
    }
  }

  /** Whether all chunks in the store belong to other runs. */
  get #waits(): boolean {
    return !this.#begins && !this.#continues && this.#options.runId !== undefined;
  }

  #readStore(): Promise<readonly StreamEntry[]> {
    const limit = { ms: this.#options.storeTimeoutMs, signal: this.#signal };
    return readStore(this.#store, this.#agentId, this.#cursor.chunk, limit);
  }

  #readLog(): Promise<boolean> {
    return this.#responses.read(this.#continues ? this.#cursor.log[0] : undefined);
  }

  /** Yields the news, and returns whether the run is over. */
  *#news(entries: readonly StreamEntry[]): Generator<StreamChunk, boolean> {
    this.#begins ||= this.#begin();
    if (!this.#begins) this.#responses.items.length = 0;
    else if (yield* this.#fromLog()) return true;
    else yield* this.#fromStore(entries);
    this.#run = this.#responses.runInProgress;
    return this.#isOver();
  }

  #begin(): boolean {
    if (this.#continues) return true;
    const { runId } = this.#options;
    const { isInProgress, newestRun, runStart } = this.#responses;
    if (runId === undefined ? !isInProgress : newestRun !== runId) return false;
    this.#cursor.log = runStart;
    return true;
  }

  #isOver(): boolean {
    const { runId } = this.#options;
    if (this.#begins && this.#responses.isInProgress) return false;
    return runId === undefined || this.#responses.runs.has(runId);
  }

  /** Returns whether the run that the client follows has ended, because another run has started. */
  *#fromLog(): Generator<StreamChunk, boolean> {
    const { items } = this.#responses;
    for (const item of items.splice(0, items.length)) {
      if (!isAfter(item, this.#cursor.log)) continue;
      if (item.run !== undefined && this.#run !== undefined && item.run !== this.#run) return true;
      if (item.response) yield* this.#rest(item, item.response);
      else yield* this.#discardOpen();
      this.#cursor.log = item.at;
    }
    return false;
  }

  /** Yields the parts of a complete response that the client has not received. */
  *#rest({ at }: LogItem, { texts, ...place }: StoredResponse): Generator<StreamChunk> {
    const { requestId } = place;
    const kinds: readonly TextKind[] = ["reasoning", "text"];
    const known = this.#cursor.open.get(requestId);
    if (known && !kinds.every((kind) => known[kind].isStartOf(texts[kind]))) {
      this.#cursor.open.delete(requestId);
      yield this.#chunk({ type: "restart", ...place });
    }
    const received = this.#cursor.received(place);
    const missing = kinds
      .map((kind) => ({ kind, text: texts[kind].slice(received[kind].length) }))
      .filter(({ text }) => text !== "");
    for (const [index, { kind, text }] of missing.entries()) {
      received[kind].add(text);
      if (index === missing.length - 1) this.#complete(requestId, at);
      yield this.#chunk({ type: `${kind}-delta`, text, ...place });
    }
    this.#complete(requestId, at);
  }

  #complete(requestId: string, at: LogItem["at"]): void {
    this.#cursor.open.delete(requestId);
    this.#cursor.log = at;
  }

  *#fromStore(entries: readonly StreamEntry[]): Generator<StreamChunk> {
    const newest = Math.max(this.#responses.generation, entries[0]?.writer ?? 0);
    if (this.#cursor.chunk.writer < newest) {
      // Another process continues the run, and makes the interrupted requests again.
      yield* this.#discardOpen();
      this.#cursor.chunk = { writer: newest, number: 0 };
    }
    for (const { writer, first, chunks } of entries) {
      if (writer !== this.#cursor.chunk.writer) continue;
      for (const [index, text] of chunks.entries()) {
        const number = first + index;
        if (number <= this.#cursor.chunk.number) continue;
        // A missing chunk can be the restart of an incomplete response.
        if (number > this.#cursor.chunk.number + 1) yield* this.#discardOpen();
        this.#cursor.chunk = { writer, number };
        const chunk = parseChunk(text);
        if (chunk) yield* this.#shown(chunk);
      }
    }
  }

  *#shown({ at = 0, ...chunk }: StoredChunk): Generator<StreamChunk> {
    const { requestId } = chunk;
    if (this.#responses.isAnswered(requestId)) return;
    if (chunk.type === "restart") {
      if (this.#cursor.open.delete(requestId)) yield this.#chunk(chunk);
      return;
    }
    const received = this.#cursor.received(chunk)[chunk.type === "text-delta" ? "text" : "reasoning"];
    // The start of the response is lost. The whole response follows from the log.
    if (received.length !== at) return;
    received.add(chunk.text);
    yield this.#chunk(chunk);
  }

  *#discardOpen(): Generator<StreamChunk> {
    for (const [requestId, { text: _text, reasoning: _reasoning, ...place }] of this.#cursor.open) {
      this.#cursor.open.delete(requestId);
      yield this.#chunk({ type: "restart", requestId, ...place });
    }
  }

  #chunk(delta: RunDelta): StreamChunk {
    return { ...delta, position: this.#cursor.position };
  }
}

function isAfter({ at }: LogItem, [position, items]: LogItem["at"]): boolean {
  return at[0] > position || (at[0] === position && at[1] > items);
}

/** Waits until a stream has possibly changed: a call of the store, an append of this process, or the next poll. */
function changesOf(store: StreamStore, agentId: string, { signal, pollMs = 100 }: AttachStreamOptions) {
  const polls = new PollIntervals(pollMs);
  const bell = new Bell();
  const watch = store.watch?.bind(store) ?? localReaders.add.bind(localReaders);
  const ends = [watch(agentId, bell.ring), signal && onAbort(signal, bell.ring)];
  return {
    async next(isActive: boolean): Promise<void> {
      await bell.heard(systemClock, polls.next(isActive));
      bell.reset();
    },
    end: () => ends.forEach((end) => end?.()),
  };
}

/** The longest interval of polls, as a multiple of the shortest one. */
const mostIntervals = 10;

/** The intervals of polls in milliseconds. During a silence, the intervals grow to a tenth of the silence. */
export class PollIntervals {
  readonly #pollMs: number;
  #silentMs = 0;

  constructor(pollMs: number) {
    this.#pollMs = pollMs;
  }

  /** @param isActive whether the last poll has found something */
  next(isActive: boolean): number {
    if (isActive) this.#silentMs = 0;
    const ms = Math.min(mostIntervals * this.#pollMs, Math.max(this.#pollMs, this.#silentMs / 10));
    this.#silentMs += ms;
    return ms;
  }
}

interface ReadLimit {
  /** In milliseconds. Defaults to 5 seconds. */
  readonly ms?: number | undefined;
  readonly signal: AbortSignal;
}

/** The stores whose last read failed. */
const failing = new WeakSet<StreamStore>();
/** The streams of each store whose last read failed. A damaged stream can fail while the store works. */
const failingStreams = new WeakMap<StreamStore, Set<string>>();
const mostFailingStreams = 1_000;

/** Reads the chunks of an agent. Returns no entries if the store fails or does not answer in time. */
export async function readStore(
  store: StreamStore,
  agentId: string,
  after: StreamPlace,
  { ms = 5_000, signal }: ReadLimit,
): Promise<readonly StreamEntry[]> {
  const late = (): Error => new Error(`The store did not answer within ${ms} ms.`);
  try {
    const entries = await withinTime({ ms, clock: systemClock, late }, signal, () => store.read(agentId, after));
    failing.delete(store);
    failingStreams.get(store)?.delete(agentId);
    return entries;
  } catch (error) {
    if (!signal.aborted) warnOfOutage(store, agentId, error);
    return [];
  }
}

/** Warns once for each outage of a store, or of a single stream. */
function warnOfOutage(store: StreamStore, agentId: string, error: unknown): void {
  const streams = failingStreams.get(store) ?? new Set();
  failingStreams.set(store, streams);
  if (!addNewest(streams, agentId, mostFailingStreams) || failing.has(store)) return;
  failing.add(store);
  const what = "read of a stream store failed. Clients see the stored responses";
  warn("stream_store_failed", `${what}: ${reasonOf(error)}`);
}
